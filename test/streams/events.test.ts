import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { events } from '../../src/streams/events.ts'
import { tap } from '../../src/streams/tap.ts'
import { asLines } from '../engines/fixture.ts'
import { codesOf, texts } from '../engines/run.ts'
import { validEvents } from '../engines/valid.ts'

const folder = 'fixtures/codex/03h-interleave.tee80'
const log = (name: string) => createReadStream(`${folder}/${name}`)
const all = async (flow: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> => {
  const list: AgentEvent[] = []
  for await (const event of flow) list.push(event)
  validEvents(list)
  return list
}
const options = { clock: () => 0 }

test('a tap of stdout, stderr and PTY through real streams gives each event once, in every order', async () => {
  // The end of the turn is told when the PTY has shown it.
  const said = (list: readonly AgentEvent[]) =>
    list
      .filter(({ data }) => !('status' in data) || data.status !== 'awaiting_user_input')
      .map(({ seq: _, ...event }) => event)
  const piped = said(
    await all(
      tap({ stdout: log('stdout.log'), stderr: log('stderr.log') }, { order: 'sequence' }).pipe(
        events(codex, options),
      ),
    ),
  )
  for (const order of ['sequence', 'step'] as const) {
    const sources = { stdout: log('stdout.log'), stderr: log('stderr.log'), pty: log('pty-output.log') }
    const list = await all(tap(sources, { order }).pipe(events(codex, options)))
    expect(codesOf(list)).not.toContain('PTY_STREAM_MISMATCH')
    if (order === 'sequence') expect(said(list)).toEqual(piped)
  }
  const live = tap({ stdout: log('stdout.log'), stderr: log('stderr.log'), pty: log('pty-output.log') })
  const list = await all(live.pipe(events(codex, options)))
  expect(texts(list)).toEqual(['Interleave test done.'])
  expect(codesOf(list)).not.toContain('PTY_STREAM_MISMATCH')
})

test('bare bytes, text and chunks of stdout give the same', async () => {
  const bytes = Buffer.from(
    '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"你好 🙂"}}\n',
  )
  const text = bytes.toString()
  const half = text.indexOf('🙂') + 1
  const inputs: unknown[][] = [
    [bytes],
    [text],
    [text.slice(0, half), text.slice(half)],
    [{ channel: 'stdout', bytes }],
    [new Uint8Array(bytes)],
  ]
  const found = await Promise.all(
    inputs.map((input) => all(Readable.from(input, { objectMode: true }).pipe(events(codex, options)))),
  )
  for (const list of found) {
    expect(texts(list)).toEqual(['你好 🙂'])
    expect(asLines(list)).toBe(asLines(found[0]!))
  }
})

test('what is no chunk fails the flow with BAD_CHUNK', async () => {
  await expect(all(Readable.from([42]).pipe(events(codex)))).rejects.toMatchObject({ code: 'BAD_CHUNK' })
})

test('options that cannot be used are told at once', () => {
  for (const bad of [{ window: 0 }, { attempt: 1.5 }, { maxFrame: -1 }]) {
    expect(() => events(codex, bad)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  }
})
