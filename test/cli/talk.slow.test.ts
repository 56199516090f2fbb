import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import pty from '@lydell/node-pty'
import { expect, test } from 'vitest'
import { replay } from '../../src/run/replay.ts'
import { resume } from '../../src/run/resume.ts'
import { built } from '../built.ts'
import { workspace } from '../run/agent.ts'
import { inside, standIn } from './inside.ts'

const wires = new URL('../run/wires/', import.meta.url).pathname

/** The words that talk with an agent that says what was recorded. */
function talking(wire: string, ...flags: string[]) {
  const { cwd, audit } = workspace()
  const notes = join(cwd, 'notes.jsonl')
  const program = [process.execPath, join(wires, 'stand-in.mjs'), join(wires, `${wire}.jsonl`), notes]
  const engine = wire.startsWith('qwen-stdio') ? 'qwen' : wire.startsWith('codex-app') ? 'codex' : 'acp'
  const kind = { qwen: ['--input-format', 'stream-json'], codex: ['app-server'], acp: [] }[engine]
  const place = ['--cwd', cwd, '--audit', audit, '--no-fs-diff', '--no-color']
  const talk = ['--talk', '--engine', engine, '--prompt', 'Go.']
  const words = ['run', ...talk, ...place, ...flags, '--', ...program, ...kind]
  const sent = () => readFileSync(join(audit, 'stdin.1.log'), 'utf8')
  return { words, sent, cwd, audit }
}

/** Waits until a stream has said something new, and gives what it said since the last time. */
function listen(stream: Readable): (words: string | RegExp) => Promise<string> {
  let said = ''
  let wake = () => {}
  stream.on('data', (piece) => {
    said += piece
    wake()
  })
  return async (words) => {
    while (!(typeof words === 'string' ? said.includes(words) : words.test(said)))
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    const all = said
    said = ''
    return all
  }
}

/** A person at a terminal, who reads before an answer is typed. */
async function person(words: readonly string[], ...typed: (readonly [ask: string | RegExp, line: string])[]) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  const stderr = standIn({ tty: true })
  const shown: string[] = []
  const until = listen(stderr)
  const end = inside(words, { stdin, stderr })
  for (const [ask, line] of typed) {
    shown.push(await until(ask))
    await delay(350)
    stdin.write(`${line}\n`)
  }
  return { ...(await end), shown }
}

const ASK = 'number of an option: '

test('a person is shown the whole command, and allows it once', async () => {
  const { words, sent } = talking('gemini-acp.allow-once')
  const { code, shown } = await person(words, [ASK, 'o'])
  expect(code).toBe(0)
  expect(shown[0]).toContain('touch note.txt && echo noted')
  expect(shown[0]).toContain('[o]nce, [a]lways, [n]o')
  expect(sent()).toContain('"optionId":"proceed_once"')
})

test('what is no option is asked again, and what two options mean must be chosen by number', async () => {
  const { words, sent } = talking('qwen-acp.allow-once')
  const { code, shown } = await person(words, [ASK, 'a'], [ASK, '9'], [ASK, '3'])
  expect(code).toBe(0)
  expect(shown[0]).toContain('1 Always Allow in project: touch * (allow_always)')
  expect(shown[0]).not.toContain('[a]lways')
  expect(sent()).toContain('"optionId":"proceed_once"')
})

test('a person is shown what would be done before what the model says of it', async () => {
  const { words, sent } = talking('copilot-acp.title')
  const { shown } = await person(words, [ASK, 'n'])
  expect(shown[0]).toMatch(
    /execute asks:\nrm -f seed\.txt\n.*\(the model says: touch up the files\)\n {2}1 /s,
  )
  expect(sent()).toContain('"optionId":"reject_once"')
})

test('no is a rejection', async () => {
  const { words, sent } = talking('codex-app-server.decline')
  expect((await person(words, [ASK, 'n'])).code).toBe(0)
  expect(sent()).toContain('"decision":"decline"')
})

test('what was typed before the request could be read is no answer to it', async () => {
  const { words, sent } = talking('gemini-acp.reject')
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  const stderr = standIn({ tty: true })
  const until = listen(stderr)
  const end = inside(words, { stdin, stderr })
  await until(ASK)
  stdin.write('o\n')
  await until(ASK)
  await delay(350)
  stdin.write('n\n')
  expect((await end).code).toBe(0)
  expect(sent()).not.toContain('proceed_once')
})

test('a question is answered by a number', async () => {
  const { words, sent } = talking('codex-app-server.question')
  const { code, shown } = await person(words, ['no answer): ', '2'])
  expect(code).toBe(0)
  expect(shown[0]).toMatch(/Which colour\?\n {2}1 Red – the red one\n {2}2 Blue/)
  expect(sent()).toContain('{"answers":{"colour":{"answers":["Blue"]}}}')
})

test('the words of the model cannot steer the terminal', async () => {
  const { words, cwd } = talking('gemini-acp.reject')
  const evil = join(cwd, 'evil.jsonl')
  const recorded = readFileSync(join(wires, 'gemini-acp.reject.jsonl'), 'utf8')
  writeFileSync(evil, recorded.replaceAll('touch note.txt', `\\u001b[2J${'x'.repeat(2000)} rm -rf \\u009b1A`))
  const { shown } = await person(
    words.map((word) => (word.endsWith('.jsonl') && word.includes('wires') ? evil : word)),
    [ASK, 'n'],
  )
  expect(shown[0]).toContain('rm -rf')
  expect(shown[0]).not.toMatch(/[\u001b\u009b]/)
})

test('in a pipe a program answers with lines, and wrong ones allow nothing', async () => {
  const { words, sent } = talking('gemini-acp.allow-once')
  const child = spawn(process.execPath, [built('src/cli/main.ts'), ...words], { stdio: 'pipe' })
  const errors = listen(child.stderr)(/no option "allow"/)
  const events = await listen(child.stdout)('"status":"awaiting_user_input"')
  expect(events).toContain('"id":"1:0"')
  for (const line of [
    'nonsense',
    '{"answer":7}',
    '{"answer":"1:7","option":"allow_once"}',
    '{"answer":"1:0","option":"allow"}',
  ])
    child.stdin.write(`${line}\n`)
  expect(await errors).toMatch(/not JSON(?:.|\n)*must be(?:.|\n)*1:7 is not open/)
  child.stdin.write('{"answer":"1:0","option":"allow_once"}\n')
  // stdin is still open: the end of the turn ends the run.
  expect((await once(child, 'close'))[0]).toBe(0)
  expect(sent().match(/"optionId"/g)).toHaveLength(1)
})

test('when stdin has ended, requests are rejected at once', async () => {
  const { words, sent } = talking('gemini-acp.reject', '--json')
  const { code, out } = await inside(words, { stdin: '' })
  expect(code).toBe(0)
  expect(out).toContain('"option":"cancel","by":"limit"')
  expect(out).toContain('REQUEST_EXPIRED')
  expect(sent()).toContain('"optionId":"cancel"')
})

test('--answer-in rejects what nobody answers', async () => {
  const { words } = talking('copilot-acp.reject', '--answer-in', '50ms', '--json')
  const { code, out } = await inside(words, { stdin: new PassThrough() })
  expect(code).toBe(0)
  expect(out).toContain('"option":"reject_once","by":"limit"')
})

test('Ctrl-C interrupts the turn, and the agent ends by itself', async () => {
  const { words, sent } = talking('gemini-acp.cancel-during-request', '--json')
  const child = spawn(process.execPath, [built('src/cli/main.ts'), ...words], { stdio: 'pipe' })
  const until = listen(child.stdout)
  await until('"status":"awaiting_user_input"')
  child.kill('SIGINT')
  child.stderr.resume()
  expect(await until('"outcome":"cancelled"')).toContain('"stopped":"interrupted"')
  expect(sent()).toContain('session/cancel')
  expect((await once(child, 'close'))[0]).toBe(1)
})

test('a run that was talked with is continued by talking', async () => {
  const { words, audit, cwd } = talking('opencode-acp.three-turns', '--json')
  await inside(words, { stdin: '' })
  const { code, out, err } = await inside(['reply', '--json', '--no-fs-diff', audit, 'Next.'], { stdin: '' })
  expect([code, err]).toEqual([0, expect.any(String)])
  expect(out).toContain('seen 2 message')
  expect(readFileSync(join(cwd, 'notes.jsonl'), 'utf8')).toContain('session/resume')
})

test('talk and a prompt that is read from stdin do not go together', async () => {
  const { words } = talking('gemini-acp.reject')
  const { code, err } = await inside(words.map((word) => (word === 'Go.' ? '-' : word)))
  expect([code, err]).toEqual([2, expect.stringContaining('--talk reads answers from stdin')])
})

test('on a real terminal a letter is an answer, and Ctrl-C interrupts the turn', async () => {
  const onTerminal = async (wire: string, keys: string) => {
    const { words, sent } = talking(wire)
    const env = { ...process.env, TERM: 'xterm-256color' }
    const terminal = pty.spawn(process.execPath, [built('src/cli/main.ts'), ...words], { cols: 100, env })
    const exit = new Promise<{ exitCode: number }>((resolve) => terminal.onExit(resolve))
    let shown = ''
    await new Promise<void>((resolve) =>
      terminal.onData((text) => {
        shown += text
        if (shown.includes(ASK)) resolve()
      }),
    )
    await delay(350)
    terminal.write(keys)
    return { code: (await exit).exitCode, shown, sent: sent() }
  }
  const [allowed, interrupted] = await Promise.all([
    onTerminal('gemini-acp.allow-once', 'o\r'),
    onTerminal('gemini-acp.cancel-during-request', '\u0003'),
  ])
  expect(allowed).toMatchObject({ code: 0, sent: expect.stringContaining('proceed_once') })
  expect(allowed.shown).toContain('finished')
  expect(interrupted).toMatchObject({ code: 1, sent: expect.stringContaining('session/cancel') })
  expect(interrupted.shown).toContain('cancelled: it was stopped on request')
})

test.for([
  ['before the agent asks', '"type":"user.message"'],
  ['while the request is open', '"status":"awaiting_user_input"'],
  ['when it was answered', '"status":"request_settled"'],
] as const)('kill -9 %s: the directory is whole, and nothing is sent again', async ([, moment]) => {
  const { words, sent, audit } = talking('gemini-acp.allow-once', '--json')
  const child = spawn(process.execPath, [built('src/cli/main.ts'), ...words], { stdio: 'pipe' })
  const until = listen(child.stdout)
  if (moment.includes('settled')) {
    await until('"status":"awaiting_user_input"')
    child.stdin.write('{"answer":"1:0","option":"allow_once"}\n')
  }
  await until(moment)
  child.kill('SIGKILL')
  await once(child, 'close')
  const before = sent()
  await resume(audit)
  await resume(audit)
  expect(sent()).toBe(before)
  const kept = readFileSync(join(audit, 'events.jsonl'), 'utf8').trim().split('\n')
  const again: string[] = []
  for await (const event of replay(audit)) again.push(JSON.stringify(event))
  expect(again).toEqual(kept)
  // Each request is settled once: by its answer, or with the run.
  const settled = kept.filter((line) => line.includes('"status":"request_settled"'))
  const asked = kept.filter(
    (line) => line.includes('"status":"awaiting_user_input"') && line.includes('"request":{'),
  )
  expect(settled).toHaveLength(asked.length)
  const answered = before.includes('"optionId"')
  for (const line of settled) expect(line).toContain(answered ? '"by":"user"' : '"by":"end"')
  expect(before).not.toMatch(answered ? /proceed_always/ : /proceed/)
})
