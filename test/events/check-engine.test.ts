import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { codex } from '../../src/engines/codex/codex.ts'
import { checkEngine, checkedEngine } from '../../src/events/check-engine.ts'
import type { Engine } from '../../src/events/engine.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import { events } from '../../src/streams/events-by-name.ts'
import { scripted } from './scripted.ts'

const good = { name: 'n', parser: 'p', cut: { stdout: 'records' }, open() {} }
const picker = { name: 'n', parser: 'p', cut: { pty: 'text' }, pick() {}, fallback: good }
const cutWords = "must be 'records', 'documents' or 'text'"

test('the export of a user’s file must be an engine, and the message says what is wrong', () => {
  const rows: [value: unknown, wrong: string | undefined][] = [
    [good, undefined],
    [picker, undefined],
    [
      new (class {
        name = 'n'
        parser = 'p'
        cut = { stderr: 'documents', blocks: [], glued: ['id'] }
        open() {}
      })(),
      undefined,
    ],
    [{ ...good, about: 'a', growing: false, shape() {} }, undefined],
    [{ ...picker, guess() {} }, undefined],
    ...[null, undefined, 'codex', 5, () => {}].map((value): [unknown, string] => [
      value,
      'it must be an object',
    ]),
    [{ ...good, name: '' }, 'name must be a non-empty string'],
    [{ ...good, name: 5 }, 'name must be a non-empty string'],
    [{ ...good, parser: undefined }, 'parser must be a non-empty string'],
    [{ ...good, parser: '' }, 'parser must be a non-empty string'],
    [{ ...good, about: 5 }, 'about must be a string'],
    [{ ...good, growing: 'yes' }, 'growing must be true or false'],
    [{ ...good, cut: undefined }, "cut must be an object such as { stdout: 'records' }"],
    [{ ...good, cut: [] }, "cut must be an object such as { stdout: 'records' }"],
    [{ ...good, cut: {} }, 'cut must name stdout, stderr or pty'],
    [{ ...good, cut: { blocks: ['a'] } }, 'cut must name stdout, stderr or pty'],
    [{ ...good, cut: { stdout: 'lines' } }, `cut.stdout ${cutWords}`],
    [{ ...good, cut: { stdout: 'text', stderr: 1 } }, `cut.stderr ${cutWords}`],
    [{ ...good, cut: { stdout: 'text', pty: null } }, `cut.pty ${cutWords}`],
    [{ ...good, cut: { stdout: 'text', blocks: 'a' } }, 'cut.blocks must be a list of names'],
    [{ ...good, cut: { stdout: 'text', blocks: [], glued: {} } }, 'cut.glued must be a list of names'],
    [{ ...good, open: undefined }, 'open must be a function'],
    [{ ...good, open: 'x' }, 'open must be a function'],
    [{ ...good, shape: 'x' }, 'shape must be a function'],
    [{ ...picker, pick: 'x' }, 'pick must be a function'],
    [{ ...picker, guess: 'x' }, 'guess must be a function'],
    [{ ...picker, fallback: undefined }, 'of its fallback, it must be an object'],
    [{ ...picker, fallback: { ...good, name: '' } }, 'of its fallback, name must be a non-empty string'],
  ]
  for (const [value, wrong] of rows) {
    let told: unknown
    try {
      expect(checkedEngine(value)).toBe(value)
    } catch (error) {
      told = error
    }
    expect(told).toEqual(
      wrong === undefined
        ? undefined
        : expect.objectContaining({ code: 'BAD_OPTION', message: `it is not an Engine: ${wrong}` }),
    )
  }
})

test('a stage takes an engine, and not its name', () => {
  for (const engine of [codex, auto, scripted, { cut: {}, open() {} }, { cut: {}, pick() {} }])
    expect(() => checkEngine('events', engine)).not.toThrow()
  for (const engine of [
    'codex',
    undefined,
    null,
    {},
    { open() {} },
    { cut: {} },
    { cut: 5, open() {} },
    { pick() {} },
  ])
    expect(() => checkEngine('events', engine)).toThrow(
      expect.objectContaining({
        code: 'BAD_OPTION',
        message: expect.stringContaining(
          `events needs an engine of this package${engine === 'codex' ? ' (not its name)' : ''} or one of your own`,
        ),
      }),
    )
})

test('at the root, events takes a name too', async () => {
  const line = '{"type":"thread.started","thread_id":"t"}\n'
  const seen = async (engine: Parameters<typeof events>[0]): Promise<unknown[]> =>
    await Readable.from([line])
      .pipe(events(engine, { clock: () => 0 }))
      .toArray()
  expect(await seen('codex')).toEqual(await seen(codex))
  expect(await seen('auto')).toEqual(await seen(auto))
  // @ts-expect-error: the names are in the type
  expect(() => events('codx')).toThrow(/engine has no name "codx"; did you mean codex\?/)
  // @ts-expect-error: not an engine
  expect(() => events(5)).toThrow(/events needs an engine of this package or one of your own/)
})

test('the run id is one line: it is a field of a line in SSE, and in journals', () => {
  expect(() => eventStage(scripted as Engine, { runId: 'ticket 4711/é' })).not.toThrow()
  for (const runId of ['', 'a\nb', 'a\u2028b', '\0', 5 as never])
    expect(() => eventStage(scripted, { runId })).toThrow(/^runId must be one line that is not empty/)
})

test('attempt, window and maxFrame are whole numbers above 0', () => {
  for (const name of ['attempt', 'window', 'maxFrame']) {
    expect(() => eventStage(scripted as Engine, { [name]: 1 })).not.toThrow()
    for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
      expect(() => eventStage(scripted, { [name]: value })).toThrow(
        expect.objectContaining({
          code: 'BAD_OPTION',
          message: `${name} must be a whole number above 0, but is ${value}`,
        }),
      )
  }
})
