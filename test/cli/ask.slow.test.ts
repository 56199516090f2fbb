import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { built } from '../built.ts'
import { inside } from './inside.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-ask-'))
})
afterAll(() => rmSync(dir, { recursive: true }))

const file = (name: string, content: string) => {
  const path = join(dir, name)
  writeFileSync(path, content)
  return path
}
const schema = () =>
  file('a.schema.json', '{"type":"object","required":["a"],"properties":{"a":{"type":"number"}}}')

const sluice = (...args: string[]) => inside(['ask', ...args], { stdin: '' })
/** A model that reads its prompt and gives an answer. */
const says = (answer: string) => ['--', 'sh', '-c', 'cat > /dev/null; printf %s "$1"', 'model', answer]
/** A model that answers with the prompt, as JSON. */
const echo = [
  '--',
  process.execPath,
  '-e',
  'process.stdin.setEncoding("utf8").on("data", (t) => (all += t)).on("end", () => console.log(JSON.stringify({ a: all }))); let all = ""',
]

describe('sluice ask', () => {
  test('prints the value as JSON on stdout, and words on stderr', async () => {
    const { code, out, err } = await sluice('Give an a.', '--schema', schema(), ...says('Sure: {"a": 1,}'))
    expect([code, out]).toEqual([0, '{"a":1}\n'])
    expect(err).toMatch(/^sluice: OUTPUT_REPAIRED_GENERIC: [^\n]*\n$/)
  })

  test('hands the command the prompt of an argument, a file or stdin', async () => {
    expect((await sluice('Grüß "Gott"', ...echo)).out).toBe('{"a":"Grüß \\"Gott\\""}\n')
    const prompt = file('prompt.md', 'line 1\nline 2\n')
    expect((await sluice('--prompt-file', prompt, ...echo)).out).toBe('{"a":"line 1\\nline 2\\n"}\n')
    expect((await inside(['ask', ...echo], { stdin: 'piped' })).out).toBe('{"a":"piped"}\n')
    expect((await inside(['ask', '--prompt-file', '-', ...echo], { stdin: 'piped' })).out).toBe(
      '{"a":"piped"}\n',
    )
  })

  test('asks again with what was wrong, in a new process', async () => {
    const script =
      'p=$(cat); case "$p" in *must\\ be\\ number*) echo \'{"a":2}\';; *) echo \'{"a":"x"}\';; esac'
    const { code, out, err } = await sluice('Give an a.', '--schema', schema(), '--', 'sh', '-c', script)
    expect([code, out]).toEqual([0, '{"a":2}\n'])
    expect(err).toMatch(/^sluice: attempt 1: SCHEMA_FAILED: .*; asking again\n$/)
  })

  test('leaves with 3 when no answer passes, and asks as often as it is told', async () => {
    const count = file('count', '')
    const model = ['--', 'sh', '-c', `echo x >> ${count}; echo 'not logged in' >&2; echo no`]
    const { code, out, err } = await sluice('p', '--rounds', '2', ...model)
    expect([code, out]).toEqual([3, ''])
    expect(err).toContain('sluice: NO_MATCH: no payload was found in the input (after 3 attempts)\n')
    expect(err).toContain('not logged in')
    expect(readFileSync(count, 'utf8')).toBe('x\nx\nx\n')
  })

  test('leaves with 1 when the command fails, whatever it wrote, and shows the end of its stderr, harmlessly', async () => {
    const count = file('failed', '')
    const noise = `i=0; while [ $i -lt 300 ]; do echo "line $i of the noise" >&2; i=$((i+1)); done`
    const script = `echo x >> ${count}; ${noise}; printf 'quota \\033[2Jis over' >&2; echo '{"a":1}'; exit 3`
    const { code, out, err } = await sluice('p', '--schema', schema(), '--', 'sh', '-c', script)
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('COMMAND_FAILED: "sh" exited with code 3')
    expect(err).toContain('quota ␛[2Jis over')
    expect(err.length).toBeLessThan(2500)
    expect(readFileSync(count, 'utf8')).toBe('x\n')
  })

  test('ends a command that takes too long, with all it has started', async () => {
    const group = await groupOf(['--timeout', '3s'])
    const [code, err] = await group.ended
    expect(code).toBe(1)
    expect(err).toContain('gave no answer in 3000 ms')
    await group.gone
  })

  test('ends the command and all it has started on Ctrl-C', async () => {
    const group = await groupOf([])
    group.sluice.kill('SIGINT')
    const [code, err] = await group.ended
    expect([code, err]).toEqual([1, 'sluice: interrupted\n'])
    await group.gone
  })

  test('waits no longer for a pipe that something else holds when the command is gone', async () => {
    const { code, out } = await sluice(
      'p',
      '--',
      'sh',
      '-c',
      `sleep 1000 & echo $! > ${dir}/left; echo '{"a":1}'`,
    )
    process.kill(Number(readFileSync(join(dir, 'left'), 'utf8')))
    expect([code, out]).toEqual([0, '{"a":1}\n'])
  })

  test('reads all of an answer that is larger than any pipe', async () => {
    const script = 'process.stdout.write(JSON.stringify({ a: "x".repeat(3_000_000) }))'
    const { code, out } = await sluice('p', '--', process.execPath, '-e', script)
    expect([code, out.length]).toEqual([0, 3_000_009])
  })

  test('keeps an answer in the cache and says that it comes from there; a failure is not kept', async () => {
    const count = file('cached', '')
    const cache = ['--cache', join(dir, 'cache')]
    const model = ['--', 'sh', '-c', `cat > /dev/null; echo x >> ${count}; echo '{"a":1}'`]
    expect((await sluice('p', ...cache, ...model)).err).toBe('')
    const second = await sluice('p', ...cache, ...model)
    expect([second.code, second.out]).toEqual([0, '{"a":1}\n'])
    expect(second.err).toBe('sluice: the answer is from the cache; the command was not started\n')
    expect(readFileSync(count, 'utf8')).toBe('x\n')
    await sluice('other', ...cache, ...model)
    await sluice('p', ...cache, '--schema', schema(), ...model)
    await sluice('p', ...cache, ...model, 'another argument')
    expect(readFileSync(count, 'utf8')).toBe('x\nx\nx\nx\n')
    const failing = ['--rounds', '0', ...cache, '--', 'sh', '-c', `echo x >> ${count}; echo no`]
    expect((await sluice('p', ...failing)).code).toBe(3)
    expect((await sluice('p', ...failing)).code).toBe(3)
    expect(readFileSync(count, 'utf8').length).toBe(12)
  })

  test('takes the last of several values, and blocks of a tag, if that is wanted', async () => {
    expect((await sluice('p', '--pick', 'last', ...says('{"a":1} then {"a":2}'))).out).toBe('{"a":2}\n')
    expect((await sluice('p', '--tag', 'json', ...says('{"a":1} <json>{"a":2}</json>'))).out).toBe(
      '{"a":2}\n',
    )
    expect((await sluice('p', '--root', 'any', ...says('[1]'))).out).toBe('[1]\n')
  })

  test('prints no control character of the answer raw', async () => {
    const { out } = await sluice('p', ...says('{"a":"\u009b2J\u202e"}'))
    expect(out).toBe('{"a":"\\u009b2J\\u202e"}\n')
  })

  test.each([
    ['no command', ['p'], 'the command is missing; give it after --'],
    ['nothing behind --', ['p', '--'], 'the command is missing; give it after --'],
    ['two prompts', ['p', 'q', '--', 'cat'], 'must be one argument'],
    ['a prompt twice', ['p', '--prompt-file', 'x', '--', 'cat'], 'given twice'],
    ['a blank prompt', [' ', '--', 'cat'], 'the prompt is empty'],
    ['no such file', ['--prompt-file', '/none', '--', 'cat'], 'cannot read "/none"'],
    ['no such schema', ['p', '--schema', '/none', '--', 'cat'], 'cannot read "/none"'],
    ['no such command', ['p', '--', 'no-such-command'], 'cannot start "no-such-command"'],
    ['bad rounds', ['p', '--rounds', '-1', '--', 'cat'], 'whole number'],
  ])('leaves with 2 for %s', async (_, args, words) => {
    const { code, out, err } = await sluice(...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(words)
  })
})

/**
 * Starts sluice with a command that starts another one; both say that they live by a connection, which ends
 * with them.
 */
async function groupOf(options: readonly string[]) {
  const path = join(mkdtempSync(join(dir, 'group-')), 'socket')
  const server = createServer()
  const sockets: Socket[] = []
  const both = new Promise<void>((resolve) => {
    server.on('connection', (socket) => {
      sockets.push(socket.on('error', () => {}).resume())
      if (sockets.length === 2) resolve()
    })
  })
  server.listen(path)
  await once(server, 'listening')
  const hang = `require('net').connect(${JSON.stringify(path)})`
  const command = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(hang)}], { stdio: 'inherit' }); ${hang}`
  const args = [built('src/cli/main.ts'), 'ask', 'p', ...options, '--', process.execPath, '-e', command]
  const sluice = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = Promise.all([once(sluice, 'close').then(([code]) => code), text(sluice.stderr)])
  // A slow machine may reach the time limit before both are there.
  await Promise.race([both, ended])
  const gone = Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close'))).then(() =>
    server.close(),
  )
  return { sluice, ended, gone }
}
