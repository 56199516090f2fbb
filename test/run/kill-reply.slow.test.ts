import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { isSameProcess } from '../../src/process/tree.ts'
import { replay } from '../../src/run/replay.ts'
import { resume } from '../../src/run/resume.ts'
import { built } from '../built.ts'
import { findRuns } from '../serve/find-runs.ts'
import { workspace } from './agent.ts'

/** Waits for a file. */
async function made(dir: string, name: string): Promise<void> {
  const watcher = watch(dir)
  while (!existsSync(join(dir, name))) await once(watcher, 'change')
  watcher.close()
}

// Waits where the test wants it to: it says that it has come there, and goes on when the test says so.
const hold = `
  const fs = require('node:fs')
  const hold = (place) => {
    if (!fs.existsSync('hold-' + place)) return
    fs.writeFileSync('at-' + place, '')
    while (fs.existsSync('hold-' + place)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
  }`
const codex = `
  const note = (more) => fs.appendFileSync('calls.jsonl', JSON.stringify(more) + '\\n')
  const say = (record) => fs.writeSync(1, JSON.stringify(record) + '\\n')
  note({ argv: process.argv.slice(2).join(' ') })
  hold('started')
  note({ stdin: fs.readFileSync(0, 'utf8') })
  say({ type: 'thread.started', thread_id: 't-1' })
  hold('turn')
  say({ type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text: 'Done.' } })
  say({ type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } })
  process.on('exit', () => fs.writeFileSync('at-end', ''))`

/** A directory with a run of one turn, whose agent is the one above. */
async function begun() {
  const { cwd, audit } = workspace()
  const bin = join(cwd, 'bin')
  mkdirSync(bin)
  const program = (name: string, body: string) =>
    writeFileSync(join(bin, name), `#!${process.execPath}\n${hold}\n${body}`, { mode: 0o755 })
  program('codex', codex)
  // The recorders make their pipes with it, right before the agent is started.
  program('mkfifo', `hold('pipe'); process.exit(1)`)
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}` }
  const sluice = (...words: string[]) =>
    spawn(process.execPath, [built('src/cli/main.ts'), ...words], { cwd, env })
  const ended = async (child: ChildProcess) => {
    const [err, [code]] = await Promise.all([text(child.stderr!), once(child, 'close'), text(child.stdout!)])
    return { err, code }
  }
  const flags = ['--no-fs-diff', '--audit', audit, '--engine', 'codex']
  const first = await ended(sluice('run', ...flags, '--prompt', 'begin', '--', 'codex', 'exec', '--json'))
  expect(first).toMatchObject({ code: 0 })
  rmSync(join(cwd, 'at-end'))
  const calls = () =>
    readFileSync(join(cwd, 'calls.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  const reply = (words: string) => {
    const replying = sluice('reply', '--no-fs-diff', audit, '-')
    replying.stdin.end(words)
    return replying
  }
  return { cwd, audit, reply, ended, calls }
}

/** Completes a directory, and checks that it is whole and that a replay gives the same. */
async function whole(audit: string): Promise<AgentEvent[]> {
  await resume(audit)
  const journal = readFileSync(join(audit, 'events.jsonl'), 'utf8')
  let again = ''
  const events: AgentEvent[] = []
  for await (const event of replay(audit)) {
    events.push(event)
    again += `${JSON.stringify(event)}\n`
  }
  expect(again).toBe(journal)
  expect(new Set(events.map((event) => event.correlation.event_id)).size).toBe(events.length)
  expect(readdirSync(audit)).not.toContain('journal.lock')
  for (const attempt of new Set(events.map((event) => event.attempt_number)))
    expect(JSON.parse(readFileSync(join(audit, `meta.${attempt}.json`), 'utf8')).complete).toBe(true)
  return events
}

const LONG = 'x'.repeat(2_000_000)

test.each([
  // The directory is taken, and nothing is written yet.
  ['before', 'reply', undefined],
  // The prompt is recorded, and the agent is not started.
  ['pipe', 'reply', undefined],
  // The agent runs and has not read all of its prompt.
  ['started', LONG, 'running'],
  ['turn', 'reply', 'running'],
  // The agent is gone, its end is not recorded.
  ['end', 'reply', undefined],
] as const)('kill -9 of a reply at its %s', { timeout: 60_000 }, async (place, words, state) => {
  const { cwd, audit, reply, ended, calls } = await begun()
  writeFileSync(join(cwd, `hold-${place}`), '')
  const killed = reply(words)
  const over = ended(killed)
  if (place === 'before') await made(audit, 'journal.lock')
  else await made(cwd, `at-${place}`)
  killed.kill('SIGKILL')
  await over
  if (state === 'running') {
    const { err, code } = await ended(reply('too early'))
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/its last turn has not ended: its process( \d+)? is still running/),
    ])
  }
  rmSync(join(cwd, `hold-${place}`))
  if (state === 'running') await made(cwd, 'at-end')
  await whole(audit)
  expect(await ended(reply('again'))).toMatchObject({ code: 0 })
  const events = await whole(audit)
  // What was asked is told once, and the agent got nothing twice.
  const asked = events.flatMap((event) => (event.type === 'user.message' ? [event.data.text] : []))
  const started = calls().filter(({ argv }) => argv !== undefined)
  const got = calls().flatMap(({ stdin }) => (stdin === undefined ? [] : [stdin]))
  expect(asked.filter((one) => one !== words)).toEqual(['begin', 'again'])
  expect(asked.filter((one) => one === words).length).toBeLessThan(2)
  expect(started.slice(1).every(({ argv }) => argv === 'exec --json resume t-1 -')).toBe(true)
  expect([got[0], got.at(-1), got.length]).toEqual(['begin', 'again', started.length])
  const logs = readdirSync(audit).filter((name) => name.startsWith('stdin.'))
  expect(logs.map((name) => readFileSync(join(audit, name), 'utf8'))).toEqual(asked)
})

test('what a killed reply has recorded before its agent was started is not sent with the next one', async () => {
  const { audit, reply, ended, calls } = await begun()
  // As they are left: the prompt and its place, and no log of an agent.
  writeFileSync(join(audit, 'meta.2.json'), readFileSync(join(audit, 'meta.1.json')))
  writeFileSync(join(audit, 'stdin.2.log'), 'never sent')
  writeFileSync(join(audit, 'chunks.2.jsonl'), '["stdin",0,10,0]\n')
  expect(await ended(reply('sent'))).toMatchObject({ code: 0 })
  const asked = (await whole(audit)).flatMap((event) =>
    event.type === 'user.message' ? [event.data.text] : [],
  )
  expect(asked).toEqual(['begin', 'sent'])
  expect(calls().at(-1)).toEqual({ stdin: 'sent' })
  expect(readFileSync(join(audit, 'stdin.2.log'), 'utf8')).toBe('sent')
})

// Asks for a permission, and does what it may when the answer comes.
const acp = `
  const tell = (message) => fs.writeSync(1, JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  const options = [{ optionId: 'once', name: 'Allow', kind: 'allow_once' }]
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    fs.appendFileSync('calls.jsonl', line + '\\n')
    const { id, method, result } = JSON.parse(line)
    if (method === 'session/new') tell({ id, result: { sessionId: 's-1' } })
    if (method === 'session/prompt') tell({ id: 0, method: 'session/request_permission', params: { sessionId: 's-1', options, toolCall: { toolCallId: 'c', title: 'touch x', kind: 'execute' } } })
    if (result) hold('answered')
  }).on('close', () => fs.writeFileSync('at-end', ''))`

test.each(['asked', 'answered'] as const)('kill -9 with a request of the agent that is %s', async (place) => {
  const { cwd, audit } = workspace()
  writeFileSync(join(cwd, 'agent.cjs'), hold + acp)
  writeFileSync(join(cwd, 'hold-answered'), '')
  const words = ['run', '--tee', '--engine', 'acp', '--no-fs-diff', '--audit', audit, '--']
  const tee = spawn(process.execPath, [built('src/cli/main.ts'), ...words, process.execPath, 'agent.cjs'], {
    cwd,
  })
  const over = once(tee, 'close')
  const sent: string[] = []
  const send = (message: object) => {
    sent.push(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    tee.stdin.write(sent.at(-1)!)
  }
  send({ id: 1, method: 'session/new', params: { cwd: '/', mcpServers: [] } })
  for await (const line of createInterface({ input: tee.stdout })) {
    const { id } = JSON.parse(line)
    if (id === 1)
      send({
        id: 2,
        method: 'session/prompt',
        params: { sessionId: 's-1', prompt: [{ type: 'text', text: 'Go.' }] },
      })
    if (id !== 0) continue
    if (place === 'answered') {
      send({ id: 0, result: { outcome: { outcome: 'selected', optionId: 'once' } } })
      await made(cwd, 'at-answered')
      // Until that is recorded, nobody knows that it arrived.
      const chunks = () => readFileSync(join(audit, 'chunks.1.jsonl'), 'utf8')
      await expect.poll(chunks).toContain(`["sent",${sent.slice(0, 2).join('').length},`)
    }
    // The client may get it before it is read here.
    await expect.poll(() => readFileSync(join(audit, 'events.jsonl'), 'utf8')).toContain('"request":')
    tee.kill('SIGKILL')
  }
  await over
  // The agent has outlived its recorder, which is told.
  if (place === 'answered') {
    const { pid } = JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))
    const problem = `its recorder was lost, but its process ${pid} is still running`
    expect(findRuns(cwd).map(({ info }) => info)).toMatchObject([{ state: 'running', problem }])
  }
  rmSync(join(cwd, 'hold-answered'))
  // Its stdin has ended with us.
  await made(cwd, 'at-end')
  // Before the events are complete, too: the agent waits for what nobody can answer.
  const { pid } = JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))
  await expect.poll(() => isSameProcess(pid, null)).toBe(false)
  if (place === 'asked')
    expect(findRuns(cwd).map(({ info }) => info)).toMatchObject([
      { outcome: 'needs_input', ok: false, waits_for: expect.any(String), problem: null },
    ])
  const events = await whole(audit)
  const settled = events.flatMap((event) =>
    event.type === 'lifecycle.run.status' && event.data.status === 'request_settled' ? [event.data] : [],
  )
  expect(settled).toMatchObject([{ by: place === 'asked' ? 'end' : 'user' }])
  expect(events.at(-1)).toMatchObject({ data: { outcome: place === 'asked' ? 'needs_input' : 'unknown' } })
  for (const log of [join(audit, 'stdin.1.log'), join(cwd, 'calls.jsonl')])
    expect(readFileSync(log, 'utf8')).toBe(sent.join(''))
})
