import { execFile, spawn } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { events } from '../../src/streams/events.ts'
import { jsonl } from '../../src/streams/jsonl.ts'
import { tap } from '../../src/streams/tap.ts'
import { frames, values } from '../../src/streams/values.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { built } from '../built.ts'
import { texts } from '../engines/run.ts'
import { agent, codesOf, ran, types, workspace } from '../run/agent.ts'

const node = (script: string) =>
  spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })
/** Writes for ever, as fast as it is read. */
const endless = `const s = '{"a":"' + 'x'.repeat(1000) + '"}\\n'; const go = () => { while (process.stdout.write(s)); process.stdout.once('drain', go) }; process.stdout.on('error', () => process.exit(9)); go()`

describe('leaving early: the source is destroyed, nothing is left behind, one AbortError', () => {
  test.for([
    ['frames', () => frames({ lines: true })],
    ['values', () => values({ lines: true })],
    ['events', () => events(codex)],
  ] as const)('break out of for await over %s ends the child', async ([, make]) => {
    const child = node(endless)
    const ended = once(child, 'exit')
    for await (const _ of tap(child).pipe(make())) break
    await ended
    expect(child.stdout.destroyed).toBe(true)
    expect(child.stdout.listenerCount('data')).toBe(0)
  })
  test('an AbortSignal in mid-block gives one AbortError, and its listener is gone', async () => {
    const abort = new AbortController()
    const flow = values({ tag: 'json', signal: abort.signal })
    const source = new PassThrough()
    source.pipe(flow)
    source.write('<json>{"a":')
    const errors: Error[] = []
    flow.on('error', (error) => errors.push(error))
    const closed = new Promise((resolve) => flow.once('close', resolve))
    const reading = (async () => {
      for await (const _ of flow);
    })()
    abort.abort()
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
    await closed
    expect(errors.map((error) => error.name)).toEqual(['AbortError'])
    expect(source.destroyed).toBe(true)
    expect(getEventListeners(abort.signal, 'abort')).toEqual([])
    expect(source.listenerCount('data')).toBe(0)
  })
  test('destroy in mid-block destroys what is piped in', async () => {
    const source = new PassThrough()
    const flow = source.pipe(frames())
    source.write('<json>{"a":')
    const closed = once(source, 'close')
    flow.destroy()
    await closed
    expect(source.listenerCount('data')).toBe(0)
  })
})

test('an error in a validator or normaliser is one failed outcome, and the others go on', async () => {
  const wrong = (n: number) => {
    if (n === 2) throw new Error('not 2')
  }
  const lines = '{"n":1}\n{"n":2}\n{"n":3}\n'
  const read = async (flow: ReturnType<typeof values>) => {
    flow.end(lines)
    const found: unknown[] = []
    for await (const outcome of flow) found.push(outcome.ok ? outcome.value : outcome.fault.code)
    return found
  }
  const normalize = [
    (value: { n: number }) => {
      wrong(value.n)
      return value
    },
  ]
  expect(await read(values({ lines: true, normalize }))).toEqual([{ n: 1 }, 'NORMALIZE_FAILED', { n: 3 }])
  const schema = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) => {
        wrong((value as { n: number }).n)
        return { value }
      },
    },
  }
  expect(await read(values({ lines: true, schema }) as ReturnType<typeof values>)).toEqual([
    { n: 1 },
    'SCHEMA_FAILED',
    { n: 3 },
  ])
})

describe('a producer that dies', () => {
  test('SIGKILL in mid-line: raw + TRUNCATED, interrupted', async () => {
    const { cwd, audit } = workspace()
    const body = `say(lines[0]); fs.writeSync(1, lines[2].slice(0, 40)); process.kill(process.pid, 'SIGKILL')`
    const { events: got, end } = await ran({ ...agent(cwd, body), cwd, audit })
    expect(end).toMatchObject({ signal: 'SIGKILL', completion: { state: 'interrupted' } })
    expect(types(got)).toContain('raw.stdout')
    expect(codesOf(got)).toContain('TRUNCATED')
  })
  test('exit 0 with the output cut at 65,536 bytes is interrupted, never completed', async () => {
    const { cwd, audit } = workspace()
    const body = `say(lines[0]); const text = lines[2].replace('done', 'x'.repeat(100000)); fs.writeSync(1, text.slice(0, 65536 - lines[0].length - 1))`
    const { events: got, end } = await ran({ ...agent(cwd, body), cwd, audit })
    expect(end).toMatchObject({
      exitCode: 0,
      completion: { state: 'interrupted', reason_code: 'TRUNCATED' },
    })
    expect(codesOf(got)).toContain('TRUNCATED')
  })
  test('exit 3 after a good result keeps the result, with COMPLETION_CONFLICT', async () => {
    const { cwd, audit } = workspace()
    const body = 'for (const line of lines) say(line); process.exitCode = 3'
    const { events: got, end } = await ran({ ...agent(cwd, body), cwd, audit })
    expect(end).toMatchObject({ exitCode: 3, completion: { state: 'awaiting_user_input' } })
    expect(codesOf(got)).toContain('COMPLETION_CONFLICT')
  })
})

describe('EPIPE downstream', () => {
  test('a reader that goes away ends the pipeline and the child', async () => {
    const child = node(endless)
    const reader = spawn(process.execPath, ['-e', 'process.stdin.once("data", () => process.exit(0))'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const ended = once(child, 'exit')
    await expect(pipeline(tap(child), events(codex), jsonl(), reader.stdin)).rejects.toMatchObject({
      code: expect.stringMatching(/EPIPE|ERR_STREAM_PREMATURE_CLOSE|ECONNRESET/),
    })
    await ended
    expect(child.stdout.destroyed).toBe(true)
  })
  test('the command line ends without a word when head has seen enough', async () => {
    const script = `yes '{"type":"turn.started"}' | ${process.execPath} ${built('src/cli/main.ts')} events --engine codex | head -n 2`
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', script], { timeout: 60_000 })
    expect(stdout.trim().split('\n')).toHaveLength(2)
    expect(stderr).not.toMatch(/EPIPE|Error/)
  })
})

describe('stdout and PTY interleaved in any order give the same multiset of events', () => {
  const record = (text: string) =>
    `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"${text}"}}`
  function* interleavings(a: readonly Chunk[], b: readonly Chunk[]): Generator<Chunk[]> {
    if (a.length === 0 || b.length === 0) return yield [...a, ...b]
    for (const rest of interleavings(a.slice(1), b)) yield [a[0]!, ...rest]
    for (const rest of interleavings(a, b.slice(1))) yield [b[0]!, ...rest]
  }
  const channel = (name: 'stdout' | 'pty', words: readonly string[]): Chunk[] =>
    words.map((word) => ({
      channel: name,
      bytes: Buffer.from(`${record(word)}${name === 'pty' ? '\r\n' : '\n'}`),
    }))
  test.for([
    ['the same', ['a', 'b', 'c'], ['a', 'b', 'c'], ['a', 'b', 'c']],
    ['twice the same word', ['ok', 'ok', 'a'], ['ok', 'ok', 'a'], ['a', 'ok', 'ok']],
    ['a word the PTY lost', ['a', 'b', 'c'], ['a', 'c'], ['a', 'b', 'c']],
    ['a word only the PTY has', ['a', 'c'], ['a', 'b', 'c'], ['a', 'b', 'c']],
    ['another order', ['a', 'b', 'c'], ['c', 'b', 'a'], ['a', 'b', 'c']],
    ['once more on the PTY', ['ok', 'a'], ['ok', 'ok', 'a'], ['a', 'ok', 'ok']],
  ] as const)('%s', ([, stdout, pty, wanted]) => {
    let ways = 0
    for (const chunks of interleavings(channel('stdout', stdout), channel('pty', pty))) {
      ways++
      const got = drive(eventStage(codex, { clock: () => 0 }), chunks)
      expect(texts(got).sort(), chunks.map((chunk) => chunk.channel).join()).toEqual(wanted)
      expect(got.map((event) => event.seq)).toEqual(got.map((_, i) => i + 1))
    }
    expect(ways).toBeGreaterThanOrEqual(10)
  })
})
