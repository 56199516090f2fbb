import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isEvent } from '../../src/events/event.ts'
import { isSameProcess } from '../../src/process/tree.ts'
import { replay } from '../../src/run/replay.ts'
import { run } from '../../src/run/run.ts'
import type { RunCommand } from '../../src/run/run-options.ts'
import { built } from '../built.ts'
import { inside } from '../cli/inside.ts'
import { agent, codesOf, codexLines, ran, workspace } from '../run/agent.ts'

const pty = { pipes: true, cols: 100 } as const
const sh = (script: string) => ({ command: 'sh', args: ['-c', script] })

/** Runs it on a terminal and pipes, checks that a replay gives the same, and gives the three logs. */
async function both(options: Omit<RunCommand, 'audit' | 'cwd'>, place = workspace()) {
  const { events, end } = await ran({ ...options, ...place, pty })
  const [stdout, stderr, shown, journal, meta] = [
    'stdout.1.log',
    'stderr.1.log',
    'pty-output.1.log',
    'events.jsonl',
    'meta.1.json',
  ].map((name) => readFileSync(join(place.audit, name), 'utf8')) as [string, string, string, string, string]
  let again = ''
  for await (const event of replay(place.audit)) again += `${JSON.stringify(event)}\n`
  expect(again).toBe(journal)
  return { events, end, stdout, stderr, shown, meta: JSON.parse(meta) }
}

test('records stdout, stderr and the terminal of one run, and reads each record once', async () => {
  const place = workspace()
  const body = `for (const line of lines) say(line); fs.writeSync(2, 'a log line\\n'); process.exitCode = 3`
  const { events, end, stdout, stderr, shown, meta } = await both(agent(place.cwd, body), place)
  expect(stdout).toBe(`${codexLines.join('\n')}\n`)
  expect(stderr).toBe('a log line\n')
  // Which of the two comes first is for the kernel to say.
  expect(shown.replace('a log line\r\n', '')).toBe(`${codexLines.join('\r\n')}\r\n`)
  expect(shown).toContain('a log line\r\n')
  expect(events.filter((event) => isEvent(event, 'agent.message.final'))).toHaveLength(1)
  expect(events.filter((event) => event.raw_ref?.stream === 'pty')).toEqual([])
  expect(end).toMatchObject({ exitCode: 3, signal: null })
  expect(meta).toMatchObject({
    mode: 'pty+pipe',
    bytes: { stdout: Buffer.byteLength(stdout), stderr: 11, pty: Buffer.byteLength(shown) },
  })
})

test('what it writes to the terminal alone is told from there', async () => {
  const message = `{"type":"item.completed","item":{"id":"item_9","type":"agent_message","text":"only here"}}`
  const place = workspace()
  const body = `say(lines[0]); fs.writeFileSync('/dev/tty', ${JSON.stringify(message)} + '\\n'); say(lines[3])`
  const { events, stdout, shown } = await both(agent(place.cwd, body), place)
  expect(stdout).not.toContain('only here')
  expect(shown).toContain(`${message}\r\n`)
  expect(events.filter((event) => event.raw_ref?.stream === 'pty').map((event) => event.type)).toContain(
    'agent.message.final',
  )
  expect(codesOf(events)).toContain('PTY_STREAM_MISMATCH')
})

test('its stdin is the terminal, its stdout is not', async () => {
  const { stdout, shown } = await both({
    ...sh('[ -t 0 ] && [ ! -t 1 ] && [ ! -t 2 ] && stty size; read word; echo "got $word"'),
    input: { text: 'hello\n' },
  })
  expect(stdout).toBe('50 100\ngot hello\n')
  // The echo of what was typed is on the terminal only.
  expect(shown.replace('hello\r\n', '')).toBe('50 100\r\ngot hello\r\n')
})

test.each([10_000, 300_000])(
  'the terminal shows the last of %i bytes of an agent that leaves',
  async (size) => {
    const place = workspace()
    writeFileSync(join(place.cwd, 'said'), `${'x'.repeat(size)}\n`)
    const { stdout, shown } = await both({ command: 'cat', args: ['said'] }, place)
    expect([stdout.length, shown.length]).toEqual([size + 1, size + 2])
  },
)

test('an agent that closes its stdout and stderr keeps its terminal until it leaves', async () => {
  const place = workspace()
  // It leaves only when it is told to, which is after both pipes have ended.
  const script = 'echo a; exec >/dev/null 2>&1; echo closed > /dev/tty; read word; echo "$word" > cleaned-up'
  const live = run({ ...sh(script), ...place, pty, fsDiff: false })
  live.resume()
  const read = (name: string) => readFileSync(join(place.audit, name), 'utf8')
  await expect.poll(() => read('pty-output.1.log'), { timeout: 20_000 }).toContain('closed')
  const recorders = (): number[] => JSON.parse(read('meta.1.json')).recorders
  await expect.poll(recorders, { timeout: 20_000 }).toHaveLength(2)
  await expect
    .poll(() => recorders().some((pid) => isSameProcess(pid, null)), { timeout: 20_000 })
    .toBe(false)
  live.type('bye\n')
  expect(await live.end).toMatchObject({ exitCode: 0, signal: null, reason: null })
  expect(readFileSync(join(place.cwd, 'cleaned-up'), 'utf8')).toBe('bye\n')
  expect(read('pty-output.1.log').split('\r\n').sort()).toEqual(['', 'a', 'bye', 'closed'])
})

test('a time limit ends all it has started', async () => {
  const place = workspace()
  const { end } = await ran({
    ...sh('sleep 1000 & echo $! > child; echo a; wait'),
    ...place,
    pty,
    // Time enough for a busy host to start the shell and its child.
    timeout: 3000,
  })
  expect(end).toMatchObject({ reason: 'timeout', signal: 'SIGTERM' })
  expect(isSameProcess(Number(readFileSync(join(place.cwd, 'child'), 'utf8')), null)).toBe(false)
})

test('no process that is started meanwhile gets the terminal of another', async () => {
  const [first, second] = [workspace(), workspace()]
  const waits = (place: typeof first) =>
    agent(place.cwd, "say(lines[0]); while (!fs.existsSync('go')) await sleep(5)")
  const live = run({ ...waits(first), ...first, pty: true, fsDiff: false })
  await once(live.resume(), 'data')
  const list =
    "for (const fd of fs.readdirSync('/proc/self/fd')) try { say(fs.readlinkSync('/proc/self/fd/' + fd)) } catch {}"
  for (const mode of [undefined, pty]) {
    const place = mode ? workspace() : second
    await ran({ ...agent(place.cwd, list), ...place, pty: mode })
    const held = readFileSync(join(place.audit, 'stdout.1.log'), 'utf8')
    expect(held).toContain('/dev/null')
    expect(held).not.toContain('ptmx')
  }
  writeFileSync(join(first.cwd, 'go'), '')
  await live.end
})

test('sluice run --pty --pipes records all three; --pipes alone is bad usage', async () => {
  const { cwd, audit } = workspace()
  const { command, args = [] } = agent(cwd, 'for (const line of lines) say(line)')
  const words = ['--engine', 'codex', '--no-fs-diff', '--cwd', cwd, '--audit', audit, '--', command, ...args]
  const { code, out } = await inside(['run', '--pty', '--pipes', ...words])
  expect(code).toBe(0)
  expect(out).toBe(readFileSync(join(audit, 'events.jsonl'), 'utf8'))
  for (const name of ['stdout', 'stderr', 'pty-output'])
    expect(existsSync(join(audit, `${name}.1.log`))).toBe(true)
  expect(await inside(['run', '--pipes', ...words])).toMatchObject({
    code: 2,
    err: expect.stringContaining('--pipes is for --pty'),
  })
})

test('the agent is hung up when its recorder is killed, and its pipes are recorded to the end', async () => {
  const place = workspace()
  const main = [
    built('src/cli/main.ts'),
    'run',
    '--pty',
    '--pipes',
    '--engine',
    'codex',
    '--no-fs-diff',
    '--audit',
    place.audit,
  ]
  const body =
    "process.on('SIGHUP', () => { say(lines[3]); process.exit(0) }); say(lines[0]); await sleep(60000)"
  const { command, args = [] } = agent(place.cwd, body)
  const recorder = spawn(process.execPath, [...main, '--', command, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await once(recorder.stdout, 'data')
  recorder.kill('SIGKILL')
  const log = () => readFileSync(join(place.audit, 'stdout.1.log'), 'utf8')
  await expect.poll(log, { timeout: 20_000 }).toBe(`${codexLines[0]}\n${codexLines[3]}\n`)
})
