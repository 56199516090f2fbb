import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { isSameProcess } from '../../src/process/tree.ts'
import { built } from '../built.ts'
import { agent, codexLines, workspace } from '../run/agent.ts'
import { inside, standIn } from './inside.ts'

function start(args: readonly string[], stdin: 'ignore' | 'pipe' = 'ignore') {
  return spawn(process.execPath, [built('src/cli/main.ts'), ...args], {
    stdio: [stdin, 'pipe', 'pipe'],
  })
}

async function ended(child: ChildProcess) {
  const [out, err, [code, signal]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'close'),
  ])
  return { out, err, code, signal }
}

const sluice = (...args: string[]) => inside(args)

/** The words that run and record an agent of this body. */
function recording(body: string, ...flags: string[]) {
  const { cwd, audit } = workspace()
  const { command, args = [] } = agent(cwd, body)
  const words = ['run', ...flags, '--engine', 'codex', '--cwd', cwd, '--audit', audit, '--', command, ...args]
  const meta = () => JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))
  return { audit, words, meta }
}

test('run prints what it records, and replay prints the same bytes', async () => {
  const { audit, words } = recording('for (const line of lines) say(line); fs.writeFileSync("made.txt", "x")')
  const { out, err, code } = await sluice(...words)
  expect(code).toBe(0)
  expect(err).toContain('attempt 1 is recorded')
  expect(out).toBe(readFileSync(join(audit, 'events.jsonl'), 'utf8'))
  expect(out).toContain('"type":"artifact.created"},"data":{"path":"made.txt"}')
  const again = await sluice('replay', audit)
  expect([again.code, again.out]).toEqual([0, out])
})

test('in a pipe nothing that run and replay print can control a terminal', async () => {
  const evil = 'a\u001b[2J\u007f\u009b31m\u202eb\u2066\u2028c'
  const line = JSON.stringify({
    type: 'item.completed',
    item: { id: 'i', type: 'agent_message', text: evil },
  })
  const { audit, words } = recording(`say(${JSON.stringify(line)})`)
  const { out } = await sluice(...words)
  const again = await ended(start(['replay', audit]))
  expect(again.out).toBe(out)
  expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/)
  expect(
    out
      .split('\n')
      .filter(Boolean)
      .map((one) => JSON.parse(one).data.text),
  ).toContain(evil)
})

test('what follows the name of the agent is for the agent, also without --', async () => {
  const { words, meta } = recording('for (const line of lines) say(line)')
  await sluice(...words.filter((word) => word !== '--'), '--json', '--timeout', '--', 'last')
  expect(meta().argv.slice(2)).toEqual(['--json', '--timeout', '--', 'last'])
})

test('draws the conversation in a pipe when it is asked to', async () => {
  const { audit, words } = recording('for (const line of lines) say(line)', '--draw')
  const { out } = await sluice(...words)
  expect(out).toContain('Grüße — done.')
  expect(out).not.toContain('protocol_version')
  expect((await sluice('replay', '--draw', audit)).out).toBe(out)
})

test('leaves with 2 for bad usage, and says what to do', async () => {
  const { cwd, audit } = workspace()
  const cases: [string[], string][] = [
    [['run', '--audit', audit], 'the command is missing'],
    [['run', '--engine', 'cudex', '--', 'true'], 'did you mean codex?'],
    [['run', '--engine', 'my-engine', '--', 'true'], '(a module is a path: ./my-engine.js); it has auto, '],
    [['run', '--timeout', 'soon', '--', 'true'], '90s, 5m or 1h'],
    [['run', '--audit', audit, '--', 'no-such-agent-here'], 'no such command'],
    [['run', '--audit', `${audit}-2`, '--cwd', join(cwd, 'nowhere'), '--', 'true'], 'does not exist'],
    [['run', '--audit', '', '--', 'true'], '--audit is empty'],
    [['run', '--attempt-of', '', '--', 'true'], '--attempt-of is empty'],
    [['run', '--audit', audit, '--done-marker', '', '--', 'true'], '--done-marker is empty'],
    [['replay', '--done-marker', '', audit], '--done-marker is empty'],
    [['replay', join(cwd, 'nowhere')], 'nowhere": there is no such file or directory'],
    [['replay', '--resume', 'LICENSE'], 'LICENSE": there is a file where a directory should be'],
    [
      ['export', '--to', 'md', 'LICENSE/x'],
      'cannot read "LICENSE/x": there is a file where a directory should be',
    ],
    [['ship', join(cwd, 'nowhere'), '--to', 'nats://x'], 'nowhere": there is no such file'],
    [['prune', join(cwd, 'nowhere'), '--older', '30d'], 'nowhere": there is no such file'],
    [['replay', cwd], 'no stdout.N.log'],
    [['replay', '--attempt', '0', cwd], 'a whole number above 0'],
    [['serve', join(cwd, 'nowhere')], 'cannot serve'],
    [['serve', '--port', '99999', cwd], 'between 0 and 65535'],
  ]
  for (const [args, words] of cases) {
    const { code, err } = await sluice(...args)
    expect(err, args.join(' ')).toContain(words)
    expect(code, args.join(' ')).toBe(2)
  }
})

test('names options as the command line does', async () => {
  const { audit } = workspace()
  await sluice('run', '--audit', audit, '--quiet', '--', 'true')
  const cases: [string[], string][] = [
    [['--answer-in', '5m'], '--answer-in is about requests that are answered: it needs --talk\n'],
    [['--talk', '--engine', 'acp'], '--talk needs a --prompt: what to say first\n'],
    [['--talk', '--prompt', 'hi'], '--talk does not know how to talk with'],
    [['--rounds', '1'], '--rounds is for a result that fails its schema; give a --schema, too\n'],
    [['--rounds', '9'], '--rounds must be 0, 1, 2 or 3, but is 9\n'],
    [['--audit', audit, '--run-id', 'other'], 'name another directory, or no --run-id\n'],
  ]
  for (const [args, words] of cases) {
    const { code, err } = await sluice('run', ...args, '--', 'true')
    expect([code, err]).toEqual([2, expect.stringContaining(words)])
  }
})

test('says where else to record if it cannot write here', () => {
  const { cwd } = workspace()
  writeFileSync(join(cwd, '.audit'), '')
  const words = [built('src/cli/main.ts'), 'run', '--', 'true']
  const { status, stderr } = spawnSync(process.execPath, words, { cwd, encoding: 'utf8' })
  expect(stderr).toContain('choose another directory with --audit DIR')
  expect(status).toBe(7)
})

test('hands its own stdin on', async () => {
  const { cwd, audit } = workspace()
  const child = start(['run', '--audit', audit, '--cwd', cwd, '--', 'cat'], 'pipe')
  child.stdin!.end('from outside\n')
  await ended(child)
  expect(readFileSync(join(audit, 'stdout.1.log'), 'utf8')).toBe('from outside\n')
})

/** Starts a run and waits for the first event, so that the agent is there. */
async function running(body: string) {
  const { audit, words, meta } = recording(body)
  const child = start(words)
  const end = ended(child)
  await once(child.stdout!, 'data')
  return { child, end, audit, meta, pid: meta().pid }
}

test('the first Ctrl-C goes to the agent, which may end in its own way', async () => {
  const { child, end, audit, meta } = await running(
    "process.on('SIGINT', () => { say(lines[3]); process.exit(0) }); say(lines[0]); await sleep(60000)",
  )
  child.kill('SIGINT')
  expect((await end).code).toBe(1)
  expect(readFileSync(join(audit, 'stdout.1.log'), 'utf8')).toBe(`${codexLines[0]}\n${codexLines[3]}\n`)
  const cancelled = { outcome: 'cancelled', ok: false, complete: true }
  expect(meta()).toMatchObject({ reason: 'interrupted', exit_code: 0, ...cancelled })
  expect(readFileSync(join(audit, 'events.jsonl'), 'utf8')).toContain('RUN_INTERRUPTED')
})

test('the second Ctrl-C kills it', async () => {
  const { child, end, meta, pid } = await running(
    "process.on('SIGINT', () => say(lines[1])); say(lines[0]); await sleep(60000)",
  )
  child.kill('SIGINT')
  await once(child.stdout!, 'data')
  child.kill('SIGINT')
  expect((await end).code).toBe(1)
  expect(isSameProcess(pid, null)).toBe(false)
  expect(meta()).toMatchObject({ signal: 'SIGKILL', complete: true })
})

test('a reader who leaves ends the agent, and the run does not end with 0', async () => {
  const { audit, words, meta } = recording('for (;;) { say(lines[2]); await sleep(5) }')
  const child = start(words)
  await once(child.stdout!, 'data')
  child.stdout!.destroy()
  const [err, [code]] = await Promise.all([text(child.stderr!), once(child, 'close')])
  expect([code, err]).toEqual([
    7,
    expect.stringMatching(/^sluice: the reader of stdout left; the agent was ended[^\n]+\n$/),
  ])
  expect(meta()).toMatchObject({ reason: 'abandoned', signal: 'SIGTERM' })
  expect(isSameProcess(meta().pid, null)).toBe(false)
  expect(existsSync(join(audit, 'journal.lock'))).toBe(false)
})

test('serve says where it is, and ends on Ctrl-C', async () => {
  const { cwd } = workspace()
  const child = start(['serve', cwd, '--port', '0'])
  const [said] = await once(child.stderr!, 'data')
  const url = /http:\S+/.exec(String(said))?.[0] ?? ''
  expect(await (await fetch(`${url}healthz`)).json()).toMatchObject({ ok: true })
  child.kill('SIGINT')
  expect((await once(child, 'close'))[0]).toBe(0)
})

test('serve ends on SIGTERM, too', async () => {
  const { cwd } = workspace()
  const stderr = standIn()
  const end = inside(['serve', cwd, '--port', '0'], { stderr })
  const [said] = await once(stderr, 'data')
  const url = /http:\S+/.exec(String(said))?.[0] ?? ''
  expect((await fetch(`${url}healthz`)).status).toBe(200)
  process.emit('SIGTERM', 'SIGTERM')
  expect((await end).code).toBe(0)
  await expect(fetch(`${url}healthz`)).rejects.toThrow('fetch failed')
})

test('resume makes no directory of a path that was mistyped', async () => {
  const { cwd } = workspace()
  const { code, err } = await sluice('replay', '--resume', join(cwd, 'nowhere'))
  expect([code, err]).toEqual([2, expect.stringContaining('nowhere": there is no such file')])
  expect(existsSync(join(cwd, 'nowhere'))).toBe(false)
})

test('replay reads one attempt, as the engine it is told', async () => {
  const { cwd, audit } = workspace()
  const run = ['run', '--cwd', cwd, '--audit', audit, '--no-fs-diff', '--engine', 'codex']
  for (const word of ['one', 'two']) await sluice(...run, '--', 'echo', word)
  const { out } = await sluice('replay', audit, '--attempt', '2', '--engine', 'text')
  const events = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  expect(new Set(events.map((event) => event.source.engine))).toEqual(new Set(['text']))
  expect(new Set(events.map((event) => event.attempt_number))).toEqual(new Set([2]))
  expect(out).toContain('two')
})

test('resume completes what a killed run left', async () => {
  const { child, audit } = await running('for (let i = 0; i < 20; i++) { say(lines[2]); await sleep(10) }')
  child.kill('SIGKILL')
  await once(child, 'close')
  const { err, out } = await sluice('replay', '--resume', audit)
  expect(err).toMatch(/attempt 1: wrote \d+ events to .*events\.jsonl/)
  expect(out).toBe(readFileSync(join(audit, 'events.jsonl'), 'utf8'))
  expect(out.split('"agent.message.final","run_id"').length - 1).toBe(20)
  expect((await sluice('replay', '--resume', audit)).err).toContain(
    'nothing was missing, and nothing was written',
  )
  // As after a full disk: the whole file is written again, and said so.
  rmSync(join(audit, 'events.jsonl'))
  const count = out.split('\n').length - 1
  expect((await sluice('replay', '--resume', audit)).err).toContain(`attempt 1: wrote ${count} events to `)
  const other = join(audit, '..', 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'stdout.1.log'), `${codexLines.join('\n')}\n`)
  const copied = await sluice('replay', '--resume', other)
  expect(copied.err).toContain('attempt 1: wrote ')
  expect(readFileSync(join(other, 'events.jsonl'), 'utf8')).toBe(copied.out)
})

test('run --cache starts nothing for a result that has passed, and keeps none that has not', async () => {
  const { cwd } = workspace()
  const schema = join(cwd, 'schema.json')
  writeFileSync(schema, '{"type":"object","required":["a"]}')
  const starts = join(cwd, 'starts')
  const asked = async (answer: string, n: number) => {
    const said = JSON.stringify({
      type: 'item.completed',
      item: { id: 'i', type: 'agent_message', text: answer },
    })
    const { command, args = [] } = agent(
      cwd,
      `fs.appendFileSync(${JSON.stringify(starts)}, "x"); say(lines[0]); say(${JSON.stringify(said)}); say(lines.at(-1))`,
    )
    const flags = [
      '--cache',
      join(cwd, 'cache'),
      '--schema',
      schema,
      '--engine',
      'codex',
      '--no-fs-diff',
      '--json',
    ]
    const audit = ['--cwd', cwd, '--audit', join(cwd, `audit-${n}`)]
    const { code, out } = await sluice('run', ...flags, ...audit, '--', command, ...args, answer)
    const results = out.split('\n').filter((line) => line.includes('"type":"lifecycle.run.result"'))
    return {
      code,
      result: results.map((line) => JSON.parse(line).data.status),
      starts: readFileSync(starts, 'utf8'),
    }
  }
  expect(await asked('{"a":1}', 1)).toEqual({ code: 0, result: ['success'], starts: 'x' })
  expect(await asked('{"a":1}', 2)).toMatchObject({ code: 0, starts: 'x' })
  expect(await asked('{"b":1}', 3)).toMatchObject({ result: ['failed'], starts: 'xx' })
  expect(await asked('{"b":1}', 4)).toMatchObject({ result: ['failed'], starts: 'xxx' })
})
