import { PassThrough, Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { drive } from '../../src/base/stage.ts'
import { acp } from '../../src/engines/acp/acp.ts'
import { auto } from '../../src/engines/auto.ts'
import { claude } from '../../src/engines/claude/claude.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { gemini } from '../../src/engines/gemini/gemini.ts'
import type { Engine, Picker } from '../../src/events/engine.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { events } from '../../src/streams/events.ts'
import { tap } from '../../src/streams/tap.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import { codesOf, lines, only, run } from '../engines/run.ts'

const thread = lines(
  { type: 'thread.started', thread_id: 't' },
  { type: 'item.completed', item: { id: 'm', type: 'agent_message', text: 'Done.' } },
  { type: 'turn.completed', usage: {} },
)
const prompt = {
  jsonrpc: '2.0',
  id: 3,
  method: 'session/prompt',
  params: { prompt: [{ type: 'text', text: 'Go.' }] },
}
const greeting = { jsonrpc: '2.0', id: 1, result: { protocolVersion: 1, agentInfo: { name: 'a' } } }
const served = { id: 1, result: { userAgent: 'drive/0.166.0' } }
const turn = { id: 3, method: 'turn/start', params: { input: [{ type: 'text', text: 'Go.' }] } }
const said = { type: 'user', message: { role: 'user', content: 'Go.' } }
const init = { type: 'system', subtype: 'init', session_id: 's', uuid: 'u' }
const repeated = (text: string) =>
  lines(
    { type: 'init', session_id: 's', model: 'm', timestamp: 't' },
    { type: 'message', role: 'user', content: text, timestamp: 't' },
  )

/** The engine, what was sent, what the agent wrote, and the prompts that come out. */
const rows: readonly (readonly [Engine | Picker, string, string, readonly string[]])[] = [
  [codex, 'fix it', thread, ['fix it']],
  [codex, 'fix\r\n\nthe test\n', thread, ['fix\r\n\nthe test']],
  [codex, 'fix é', '', ['fix é']],
  [codex, ' \n', thread, []],
  // Text that looks like records of its own wire, of another one, or of the agent.
  [codex, lines(turn), thread, [lines(turn).trim()]],
  [auto, lines(prompt), thread, [lines(prompt).trim()]],
  [auto, thread, thread, [thread.trim()]],
  [gemini, lines(said), repeated('x'), [lines(said).trim(), 'x']],
  // Repeated by the agent, so said once; the second one is another one.
  [gemini, 'Go.\n', repeated('Go.'), ['Go.']],
  [gemini, 'Go.\n', repeated('Go.') + repeated('Go.'), ['Go.', 'Go.']],
  // Records of a wire.
  [acp, lines(prompt), lines(greeting), ['Go.']],
  [auto, lines(prompt, prompt), lines(greeting), ['Go.', 'Go.']],
  [codex, lines(turn), lines(served), ['Go.']],
  [auto, lines({ id: 1, method: 'initialize' }, turn), lines(served), ['Go.']],
  [claude, lines(said), lines(init), ['Go.']],
  [claude, 'Go.', lines(init), ['Go.']],
  [claude, JSON.stringify(said), lines(init), ['Go.']],
]

test('what was sent is told as prompts, each once, whichever side is read first', () => {
  for (const [engine, stdin, stdout, prompts] of rows) {
    const told = only(run(engine, { stdin, stdout }), 'user.message')
    expect([stdin, ...told.map(({ data }) => data.text)]).toEqual([stdin, ...prompts])
    const late: Chunk[] = [
      { channel: 'stdout', bytes: Buffer.from(stdout) },
      { channel: 'stdin', bytes: Buffer.from(stdin) },
    ]
    const again = only(drive(eventStage(engine), late), 'user.message').map(({ data }) => data.text)
    expect([stdin, ...again.sort()]).toEqual([stdin, ...[...prompts].sort()])
  }
})

test('a line of a wire that is no record is raw, and no prompt', () => {
  const told = run(acp, { stdin: `rate limit\n${lines(prompt)}`, stdout: lines(greeting), exit: 1 })
  expect(only(told, 'raw.stdin').map(({ data }) => data.line)).toEqual(['rate limit'])
  expect(codesOf(told)).toContain('RAW_LINE')
  expect(only(told, 'lifecycle.completion.state')[0]?.data.failure_class).toBe('other')
})

test('a tap reads stdin before the other logs, and does not wait for it after the exit', async () => {
  const logs = { stdout: Readable.from([thread]), stdin: Readable.from(['fix ', 'it']), exit: 0 }
  const first = tap(logs, { order: 'step' }).pipe(events(codex))
  expect((await first.toArray()).map(({ type }) => type).indexOf('user.message')).toBe(1)
  const stdin = new PassThrough()
  stdin.write('fix it')
  const live = tap({ stdout: Readable.from([thread]), stdin, exit: Promise.resolve(0) }).pipe(events(codex))
  expect(only(await live.toArray(), 'user.message')).toHaveLength(1)
  expect(() => tap({ stdin: new PassThrough() })).toThrow('stdout')
})
