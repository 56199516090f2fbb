import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { agent, workspace } from '../run/agent.ts'
import { inside, standIn } from './inside.ts'

const log = join('fixtures', 'codex/02-reasoning.pipe', 'stdout.log')
afterEach(() => {
  vi.unstubAllEnvs()
})

describe('on a terminal', () => {
  test('chat --json prints records there too', async () => {
    const piped = await inside(['chat', log])
    const { out } = await inside(['chat', log, '--json'], { stdout: standIn({ tty: true }) })
    const types = (text: string) =>
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).type)
    expect(types(out)).toEqual(types(piped.out))
  })

  test('a line is broken at the width of the terminal, and at 80 columns where it has none', async () => {
    const wide = await inside(['replay', log], { stdout: standIn({ tty: true, columns: 0 }) })
    const narrow = await inside(['replay', log], { stdout: standIn({ tty: true, columns: 20 }) })
    const longest = (text: string) => Math.max(...text.split('\n').map((line) => line.length))
    expect(longest(wide.out)).toBeGreaterThan(40)
    expect(longest(wide.out)).toBeLessThanOrEqual(80)
    expect(longest(narrow.out)).toBeLessThanOrEqual(20)
  })

  test('events that are printed there cannot steer it', async () => {
    const { cwd, audit } = workspace()
    const program = agent(cwd, 'say(JSON.stringify({ type: "thread.started", thread_id: "\\u009b2J" }))')
    const run = ['run', '--cwd', cwd, '--audit', audit, '--engine', 'codex', '--json']
    const command = ['--', program.command, ...program.args!]
    const { out } = await inside([...run, ...command], { stdout: standIn({ tty: true }) })
    expect(out).toContain('\\u009b2J')
    expect(out).not.toContain('\u009b')
    // In a pipe, too: what reads it may be a terminal in the end. The records are those of the journal.
    const piped = (await inside(['replay', '--json', audit])).out
    const journal = readFileSync(join(audit, 'events.jsonl'), 'utf8')
    expect(piped).toBe(journal.replaceAll('\u009b', '\\u009b'))
  })

  test('shows a tool while it runs, in one line that its end is written over', async () => {
    vi.stubEnv('TERM', 'xterm')
    const stdin = new PassThrough()
    const stdout = standIn({ tty: true })
    const say = (record: object) => stdin.write(`${JSON.stringify(record)}\n`)
    const item = { id: 'a', type: 'command_execution', command: 'npm test' }
    const end = inside(['chat', '--engine', 'codex', '--no-color'], { stdin, stdout })
    say({ type: 'thread.started', thread_id: 't' })
    say({ type: 'item.started', item })
    let shown = ''
    for await (const piece of stdout.iterator({ destroyOnReturn: false })) {
      shown += piece
      if (shown.includes('▸')) break
    }
    say({
      type: 'item.completed',
      item: { ...item, exit_code: 0, aggregated_output: '', status: 'completed' },
    })
    stdin.end(`${JSON.stringify({ type: 'turn.completed', usage: {} })}\n`)
    const { out } = await end
    expect(out).toContain('▸ command_execution npm test')
    expect(out).toMatch(/\r\u001b\[K\n✓ command_execution npm test · exit 0/)
  })

  test('says that it reads what is typed', async () => {
    const stdin = Object.assign(new PassThrough().end('{"a":1}'), { isTTY: true })
    const { code, err, out } = await inside(['values', '-'], { stdin })
    expect([code, JSON.parse(out).value]).toEqual([0, { a: 1 }])
    expect(err).toBe('sluice: reading from the terminal; end with Ctrl-D\n')
  })
})

describe('the drawing flags', () => {
  const run = join('fixtures', 'codex/03b-tool-fail.pipe')
  const onTerminal = { tty: true, colors: true }

  test.each(['chat', 'replay'])('%s --draw is the same text in a pipe as on a terminal', async (command) => {
    const piped = await inside([command, run, '--draw'])
    const shown = await inside([command, run, '--no-color'], { stdout: standIn(onTerminal) })
    expect(piped.out).toBe(shown.out)
    expect(piped.out).toContain('✗ command_execution echo partial')
  })

  test('--color and --no-color decide, then FORCE_COLOR, then NO_COLOR, then the terminal', async () => {
    const colored = async (flags: string[], stdout = standIn()) =>
      (await inside(['chat', run, '--draw', ...flags], { stdout })).out.includes('\u001b[')
    vi.stubEnv('FORCE_COLOR', '')
    vi.stubEnv('NO_COLOR', '')
    expect([await colored([]), await colored(['--color'])]).toEqual([false, true])
    expect(await colored([], standIn(onTerminal))).toBe(true)
    expect([await colored(['--color=always']), await colored(['--color', 'always'])]).toEqual([true, true])
    expect([await colored(['--color=auto']), await colored(['--color', 'auto'])]).toEqual([false, false])
    expect(await colored(['--color', 'never'], standIn(onTerminal))).toBe(false)
    // Before the file, it says nothing about when.
    expect((await inside(['chat', '--draw', '--color', run])).out).toContain('\u001b[')
    vi.stubEnv('NO_COLOR', '1')
    expect([await colored([], standIn(onTerminal)), await colored(['--color'])]).toEqual([false, true])
    vi.stubEnv('FORCE_COLOR', '1')
    expect([await colored([]), await colored(['--no-color'])]).toEqual([true, false])
    vi.stubEnv('FORCE_COLOR', '0')
    expect(await colored([], standIn(onTerminal))).toBe(false)
  })

  test('--quiet gives the answer alone: as it was written in a pipe, drawn on a terminal', async () => {
    const answer = 'The command failed with exit code 3.\n'
    for (const command of ['chat', 'replay']) {
      expect((await inside([command, run, '--quiet'])).out).toBe(answer)
      expect((await inside([command, run, '--quiet'], { stdout: standIn(onTerminal) })).out).toBe(answer)
    }
    const none = await inside(['chat', join('fixtures', 'codex/08a-http-429.pipe'), '--quiet'])
    expect([none.code, none.out]).toEqual([1, ''])
    expect(none.err).toContain('the agent gave no answer')
  })

  test('--full and --verbose draw in a pipe, too', async () => {
    expect((await inside(['chat', run, '--full'])).out).toMatch(/^● codex\n/)
    expect((await inside(['replay', run, '--verbose'])).out).toMatch(/RAW_LINE/)
  })

  test.each([
    ['--json', '--draw'],
    ['--json', '--quiet'],
    ['--quiet', '--full'],
  ])('%s and %s contradict each other', async (one, other) => {
    for (const command of [
      ['chat', run],
      ['replay', run],
      ['run', '--', 'true'],
    ]) {
      const [name = '', ...rest] = command
      expect((await inside([name, one, other, ...rest])).code).toBe(2)
    }
  })
})

describe('sluice run', () => {
  test('hands what is typed to an agent on a pseudo-terminal', async () => {
    const { cwd, audit } = workspace()
    const stdin = new PassThrough()
    const stdout = standIn({ tty: true, columns: 61 })
    const script = 'tput cols 2>/dev/null; stty size; read line; echo "got $line"'
    const end = inside(['run', '--pty', '--cwd', cwd, '--audit', audit, '--', 'sh', '-c', script], {
      stdin,
      stdout,
    })
    stdin.write('hello\r')
    expect((await end).out).toMatch(/\n {2}audit: .*\.audit\n$/)
    const shown = readFileSync(join(audit, 'pty-output.1.log'), 'utf8')
    expect(shown).toContain('24 61')
    expect(shown).toContain('got hello')
  })

  test('ends the input of an agent on a pseudo-terminal with its own', async () => {
    for (const text of ['one\ntwo\n', 'one\ntwo']) {
      const { cwd, audit } = workspace()
      const script = 'printf "<%s>" "$(cat)"'
      await inside(['run', '--pty', '--cwd', cwd, '--audit', audit, '--', 'sh', '-c', script], {
        stdin: new PassThrough().end(text),
        stdout: standIn(),
      })
      expect(readFileSync(join(audit, 'pty-output.1.log'), 'utf8')).toContain('<one\r\ntwo>')
    }
  })

  test('tells on a terminal how to kill an agent that does not heed Ctrl-C', async () => {
    const { cwd, audit } = workspace()
    const program = agent(cwd, "process.on('SIGINT', () => say(lines[1])); say(lines[0]); await sleep(60000)")
    const stdout = standIn()
    const stderr = standIn({ tty: true })
    const command = ['--', program.command, ...program.args!]
    const end = inside(['run', '--cwd', cwd, '--audit', audit, '--engine', 'codex', ...command], {
      stdout,
      stderr,
    })
    await once(stdout, 'data')
    process.emit('SIGINT', 'SIGINT')
    await once(stdout, 'data')
    process.emit('SIGINT', 'SIGINT')
    const { code, err } = await end
    expect(code).toBe(1)
    const lines = err.split('\n')
    expect(lines.slice(0, 3)).toEqual([
      '',
      'sluice: interrupting; press Ctrl-C again to kill',
      'sluice: the user interrupted the process',
    ])
    expect(lines[3]).toMatch(/^sluice: attempt 1 is recorded in .*\.audit$/)
    expect(process.listenerCount('SIGHUP')).toBe(0)
  })

  test('says where it records, also if that is here', async () => {
    const { cwd } = workspace()
    vi.spyOn(process, 'cwd').mockReturnValue(cwd)
    const { err } = await inside(['run', '--audit', cwd, '--cwd', cwd, '--', 'true'])
    vi.restoreAllMocks()
    expect(err).toMatch(/^sluice: it exited with code 0, .*\nsluice: attempt 1 is recorded in \.\n$/)
  })

  test.each([
    ['it ran longer than 300 ms', ['--timeout', '300ms']],
    ['it printed nothing for 300 ms', ['--idle-timeout', '300ms']],
  ])('says that %s', async (words, limit) => {
    const { cwd, audit } = workspace()
    const { code, err } = await inside(['run', '--cwd', cwd, '--audit', audit, ...limit, '--', 'sleep', '60'])
    expect(err).toContain(`sluice: ${words}, so it was ended\n`)
    expect(code).toBe(1)
  })
})
