import { EventEmitter } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as eventDoor from '../src/events.ts'
import * as root from '../src/index.ts'
import * as nats from '../src/nats.ts'
import * as serveDoor from '../src/serve.ts'
import * as valueDoor from '../src/values.ts'
import * as views from '../src/views.ts'
import * as web from '../src/web.ts'
import * as workDoor from '../src/work.ts'

// Callers without types, and with types that lie: whatever the argument is, the Fault is about the call.

const api = { ...eventDoor, ...valueDoor, ...root, ...nats, ...serveDoor, ...workDoor }
const dir = mkdtempSync(join(tmpdir(), 'misuse-'))
const inDir = (name: string) => join(dir, name)
// A wrong argument may be a right name of a folder: what is made by such a name is not for the repository.
const home = process.cwd()
beforeAll(() => process.chdir(dir))
afterAll(() => process.chdir(home))
type Call = (...given: unknown[]) => unknown
const callable = Object.entries(api).filter(
  ([name, value]) => typeof value === 'function' && name !== 'Fault',
) as [string, Call][]

const wrong = [undefined, null, 7, true, 'text', [], {}, () => undefined, Symbol('wrong')]
/** What a first argument may be for some function, so that the second one is looked at. */
const firsts = [inDir('some'), {}, api.codex, (next: unknown) => next, new Map()]

/** Calls it, waits for an answer, and leaves nothing open. */
async function faultOf(call: Call, given: readonly unknown[]): Promise<unknown> {
  try {
    const made = (await call(...given)) as Partial<PassThrough> & { close?(): unknown; end?: unknown }
    made?.on?.('error', () => {})
    if (made?.end instanceof Promise) {
      made.end.catch(() => {})
      // A run that cannot be started fails a turn later.
      await turn()
      await turn()
      if (made.errored) return made.errored
    }
    if (typeof made?.destroy === 'function') await destroyed(made as PassThrough)
    else if (typeof made?.close === 'function') await made.close()
    return undefined
  } catch (error) {
    return error
  }
}

function destroyed(stream: PassThrough): Promise<unknown> {
  const closed = new Promise((resolve) => stream.once('close', resolve))
  stream.destroy()
  return closed
}

test.each(callable)('%s never fails inside for an argument of the wrong kind', async (_name, call) => {
  const calls = [
    [],
    ...wrong.map((one) => [one]),
    ...firsts.flatMap((first) => wrong.map((one) => [first, one])),
    ...wrong.map((one) => [inDir('some'), [], one]),
  ]
  for (const given of calls) {
    const fault = await faultOf(call, given)
    if (fault !== undefined) expect(api.Fault.is(fault), `${String(fault)}`).toBe(true)
  }
})

test.each<[string, Call]>([
  ['parse(undefined)', () => api.parse(undefined as never)],
  ['parse(null)', () => api.parse(null as never)],
  ['tryParse(7)', () => api.tryParse(7 as never)],
  ['parse(text, null)', () => api.parse('{}', null as never)],
  ["parse(text, 'schema')", () => api.parse('{}', 'schema' as never)],
  ["values('json')", () => api.values('json' as never)],
  ['values(null)', () => api.values(null as never)],
  ['values({ where }) without lines', () => api.values({ where: { type: 'a' } })],
  ['values with a text as where', () => api.values({ lines: true, where: 'type=a' as never })],
  ['values with a number as onDropped', () => api.values({ lines: true, onDropped: 7 as never })],
  ['values with a where without keys', () => api.values({ lines: true, where: {} })],
  ["frames('json')", () => api.frames('json' as never)],
  ['frames({ tags: "json" })', () => api.frames({ tags: 'json' as never })],
  ["events('codx')", () => api.events('codx' as never)],
  ['events()', () => (api.events as Call)()],
  ["events('codex') of /web", () => web.events('codex' as never)],
  ['events() of /web', () => (web.events as Call)()],
  ['events(codex, 7)', () => api.events(api.codex, 7 as never)],
  ['chat(null)', () => api.chat(null as never)],
  ['sse(15000)', () => api.sse(15_000 as never)],
  ['journal()', () => (api.journal as Call)()],
  ["journal(dir, 'each')", () => api.journal(inDir('j'), 'each' as never)],
  ['journal with a fsync of its own', () => api.journal(inDir('j'), { fsync: 'always' as never })],
  ['tap(undefined)', () => api.tap(undefined as never)],
  ['tap(7)', () => api.tap(7 as never)],
  ['tap({ stdout: text })', () => api.tap({ stdout: 'text' as never })],
  ['flow(undefined)', () => api.flow(undefined as never)],
  ['flow of a stage without a sink', () => api.flow((() => undefined) as never)],
  ['drive(stage, undefined)', () => api.drive((next) => next, undefined as never)],
  ['join(values(), values())', () => api.join(api.values() as never, api.values() as never)],
  ["serve('dir')", () => api.serve('dir' as never)],
  ['serve()', () => (api.serve as Call)()],
  ["serve({ dir, port: '80' })", () => api.serve({ dir, port: '80' as never })],
  ['replay(undefined)', () => api.replay(undefined as never)],
  ["replay(dir, 'real')", () => api.replay(dir, 'real' as never)],
  ['resume(7)', () => api.resume(7 as never)],
  ['run()', () => (api.run as Call)()],
  ['run(command, args, null)', () => api.run('true', [], null as never)],
  ['run with an audit that is no path', () => api.run('true', [], { audit: 7 as never })],
  ['run with a text as input', () => api.run('true', [], { input: 'text' as never })],
  ['ask()', () => (api.ask as Call)()],
  ['ask(call)', () => (api.ask as Call)(() => '{}')],
  ["ask('model', options)", () => api.ask('model' as never, { prompt: 'x' })],
  ["ask.stream('model', options)", () => api.ask.stream('model' as never, { prompt: 'x' })],
  ['fileCache()', () => (api.fileCache as Call)()],
  ['outbox()', () => (api.outbox as Call)()],
  ['ledger()', () => (api.ledger as Call)()],
  ['activate()', () => (api.activate as Call)()],
  ['findAdapter(7)', () => api.findAdapter(7 as never)],
  ['settle()', () => (api.settle as Call)()],
  ['settle({ json: text })', () => (api.settle as Call)({ json: '{}' }, {}, 'r')],
  ['brief()', () => (api.brief as Call)()],
  ['sseMessage({})', () => api.sseMessage({} as never)],
  ['snapshots(null)', () => api.snapshots(null as never)],
])('%s is BAD_OPTION, with the call that is meant', async (_name, call) => {
  const fault = await faultOf(call, [])
  expect(fault).toMatchObject({ code: 'BAD_OPTION' })
})

/** Streams of SDKs emit objects. */
async function* chunksOf(...all: object[]) {
  yield* all
}
const completion = () => chunksOf({ id: 'x', choices: [{ delta: { content: '{"a":1}' } }] })
const child = () => Object.assign(new EventEmitter(), { stdout: new PassThrough() })
const all = async (flow: AsyncIterable<unknown>) => {
  for await (const _ of flow);
}
const any = api as unknown as Record<string, (...given: unknown[]) => never>

// What people write first: each says what came, and what to write. None is silent, and none waits for ever.
test.each<[string, () => unknown, RegExp]>([
  [
    'values(iterable, options)',
    () => any['values']!(completion(), { root: 'any' }),
    /got a stream.*tap\(source\)\.pipe/,
  ],
  ['values(generator)', () => any['values']!([][Symbol.iterator]()), /got a stream.*tap\(source\)/],
  ['values(stream)', () => any['values']!(new PassThrough()), /got a stream.*tap\(source\)/],
  ['values([text])', () => any['values']!(['{}']), /got an array.*values\(\{ tag/],
  ['chat(run)', () => any['chat']!(new PassThrough()), /got a stream/],
  ['events(codex, child)', () => any['events']!('codex', child()), /got a child process/],
  ['events(stream)', () => any['events']!(new PassThrough()), /got a stream; .*events\(codex\)/],
  ['tap(promise)', () => any['tap']!(Promise.resolve('x')), /got a promise, which must be awaited/],
  ['tap(process)', () => any['tap']!(process), /tap\(process\.stdin\)/],
  ['tap({ stdout: child })', () => any['tap']!({ stdout: child() }), /as stdout, but got a child process/],
  [
    'tap(openai)',
    () => all(api.tap(completion() as never)),
    /an object with id, choices.*\{ text: \(chunk\)/,
  ],
  [
    'tap(stream, { text: name })',
    () => any['tap']!(completion(), { text: 'content' }),
    /a function as text, but got a string/,
  ],
  [
    'text that gives no text',
    () => all(api.tap(completion(), { text: (chunk) => chunk as never })),
    /returned an object with id/,
  ],
  ['tap(child, { text })', () => any['tap']!(child(), { text: String }), /not a child process/],
  ['replay of a journal', () => api.replay(journalFile()), /has events.*directory of the run/],
  ['parse(promise)', () => any['parse']!(Promise.resolve('{}')), /got a promise/],
  ['parse(response)', () => any['parse']!(new Response('{}')), /got a Response/],
  ['parse(bytes)', () => any['parse']!(Buffer.from('{}')), /got bytes/],
  ['parse(value)', () => any['parse']!({ a: 1 }), /got an object with a;/],
  [
    'ask of an SDK answer',
    () => api.ask((async () => ({ id: 1, choices: [] })) as never, { prompt: 'x' }),
    /returned an object with id, choices; return its text/,
  ],
  [
    'ask of an SDK stream',
    () => api.ask((async () => completion()) as never, { prompt: 'x' }),
    /an object with id, choices.*yield the text/,
  ],
  ['run(command, text)', () => any['run']!('codex', 'exec'), /array of strings, but is "exec"/],
  ['run(command, options)', () => any['run']!('codex', { prompt: 'x' }), /options are the third/],
  ['run([command])', () => any['run']!(['codex']), /got an array/],
  ['run with one text', () => api.run('no-such-agent exec --json'), /arguments are a list/],
  ['an engine that is misspelt', () => any['run']!('true', [], { engine: 'cluade' }), /did you mean claude/],
  ['a signal that is misspelt', () => any['run']!('true', [], { signl: 1 }), /did you mean signal/],
  [
    'a controller as signal',
    () => any['run']!('true', [], { signal: new AbortController() }),
    /got an AbortController/,
  ],
  [
    'the name of a file as schema',
    () => any['values']!({ schema: 'report.json' }),
    /"report\.json"; of a file, .*JSON\.parse/,
  ],
  ['talk without a prompt', () => api.run('gemini', ['--acp'], { talk: true }), /needs a `prompt`/],
  [
    'talk with one that does not',
    () => api.run('gemini', ['-p', 'x'], { talk: true, prompt: 'x' }),
    /"gemini" as it is started here; start it as gemini --acp$/,
  ],
  [
    'talk with one that is named',
    () => api.run('codex', ['exec', '--json'], { engine: 'codex', talk: true, prompt: 'x' }),
    /start it as codex app-server$/,
  ],
  [
    'talk with one that is named, and talks as another engine',
    () => api.run('gemini', [], { engine: 'gemini', talk: true, prompt: 'x' }),
    /start it as gemini --acp, and leave out `engine`$/,
  ],
  [
    'talk with one that takes no answers',
    () => api.run('amp', ['--execute'], { talk: true, prompt: 'x' }),
    /"amp", which takes no answers while it works/,
  ],
  [
    'talk with one that nobody knows',
    () => api.run('./mine', [], { talk: true, prompt: 'x' }),
    /"\.\/mine": start it with --acp, .* or name its `engine`: acp, codex/,
  ],
  ['a list as prompt', () => any['run']!('true', [], { prompt: ['x'] }), /prompt must be a text .*"x"/],
])('%s says what came, and what to write', async (_name, call, words) => {
  const fault = await faultOf(call, [])
  expect(api.Fault.is(fault), String(fault)).toBe(true)
  expect((fault as Error).message).toMatch(words)
  expect((fault as Error).message.length).toBeLessThan(500)
})

function journalFile(): string {
  const path = inDir('events.jsonl')
  writeFileSync(path, '{"protocol_version":"rasp/1.0","type":"raw.stdout"}\n')
  return path
}

test('an empty path is called empty', async () => {
  const fault = await faultOf(() => api.replay(''), [])
  expect(fault).toMatchObject({ message: expect.stringContaining('needs a path, but got an empty string') })
})

test.each<[string, (signal: never) => unknown]>([
  ['frames', (signal) => api.frames({ signal })],
  ['values', (signal) => api.values({ signal })],
  ['events', (signal) => api.events(api.codex, { signal })],
  ['chat', (signal) => api.chat({ signal })],
  ['sse', (signal) => api.sse({ signal })],
  ['journal', (signal) => api.journal(inDir('s'), { signal })],
  ['tap', (signal) => api.tap({ stdout: new PassThrough() }, { signal })],
  ['flow', (signal) => api.flow((next) => next, { signal })],
  ['replay', (signal) => api.replay(dir, { signal })],
  ['resume', (signal) => api.resume(dir, { signal })],
  ['run', (signal) => api.run('true', [], { signal })],
  ['ask', (signal) => api.ask(() => '{}', { prompt: 'x', signal })],
])('%s takes no signal that is none', async (_name, call) => {
  for (const signal of [7, 'abort', {}, new AbortController()])
    expect(await faultOf(() => call(signal as never), [])).toMatchObject({ code: 'BAD_OPTION' })
})

// What JSON, an environment variable or a slip would give: none of it may be taken for something else.
test.each<[string, unknown, (options: never) => unknown]>([
  ['partial', 'no', api.values],
  ['label', 7, api.values],
  ['partial', 'no', (options) => api.tryParse('{}', options)],
  ['heartbeat', Number.POSITIVE_INFINITY, api.sse],
  ['heartbeat', Number.NaN, views.agUiSse],
  ['order', 'stdout', (options) => api.tap('text', options)],
  ['doneMarker', '', (options) => api.events(api.codex, options)],
  ['dir', 7, (options) => api.events(api.codex, options)],
  ['clock', 0, (options) => api.events(api.codex, options)],
  ['lines', 'true', api.snapshots],
  ['root', 'array', api.snapshots],
  ['maxLength', '60000', views.markdown],
  ['raw', 'no', views.agUi],
  ['patterns', 'project-x', views.redactor],
  ['maxEntries', Number.NaN, (options) => api.fileCache(inDir('o'), options)],
  ['interval', 'soon', (options) => api.journal(inDir('o'), options)],
  ['speed', 'fast', (options) => api.replay(dir, options)],
  ['attempt', 0, (options) => api.replay(dir, options)],
  ['window', 0, (options) => api.replay(dir, options)],
  ['follow', 1, (options) => api.replay(dir, options)],
  ['engine', 'codx', (options) => api.replay(dir, options)],
  ['timeout', null, (options) => api.run('true', [], options)],
  ['timeout', '60000', (options) => api.run('true', [], options)],
  ['timeout', 10n, (options) => api.run('true', [], options)],
  ['killGrace', true, (options) => api.run('true', [], options)],
  ['env', 'PATH=/bin', (options) => api.run('true', [], options)],
  ['limit', 0, (options) => api.run('true', [], options)],
  ['fsDiff', 'yes', (options) => api.run('true', [], options)],
  ['fsync', 'always', (options) => api.run('true', [], options)],
  ['pty', 1, (options) => api.run('true', [], options)],
  ['cache', '.cache', (options) => api.run('true', [], options)],
  ['cacheKey', 7, (options) => api.run('true', [], options)],
  ['system', 7, (options) => api.ask(() => '{}', { prompt: 'x', ...(options as object) })],
  ['retryPrompt', 'again', (options) => api.ask(() => '{}', { prompt: 'x', ...(options as object) })],
  ['cache', true, (options) => api.ask(() => '{}', { prompt: 'x', ...(options as object) })],
  ['stopWhenValid', 'no', (options) => api.ask(() => '{}', { prompt: 'x', ...(options as object) })],
  ['dir', '', api.serve],
  ['maxClients', '10', (options) => api.serve({ dir, port: 0, ...(options as object) })],
  ['maxStall', Number.POSITIVE_INFINITY, (options) => api.serve({ dir, port: 0, ...(options as object) })],
  ['insecure', 'no', (options) => api.serve({ dir, port: 0, ...(options as object) })],
  ['redact', 'no', (options) => api.serve({ dir, port: 0, ...(options as object) })],
  ['hide', 'project-x', (options) => api.exportRun(dir, { to: 'md', ...(options as object) })],
  ['command', './worker.sh', (options) => api.work({ issue_ref: 'a', run_id: 'r', repo_dir: dir }, options)],
  ['outbox', '.outbox', (options) => api.work({ issue_ref: 'a', run_id: 'r', repo_dir: dir }, options)],
  ['ledger', {}, (options) => api.work({ issue_ref: 'a', run_id: 'r', repo_dir: dir }, options)],
])('the option %s refuses %o, and is named', async (name, value, call) => {
  const fault = await faultOf(() => call({ [name]: value } as never), [])
  expect(fault).toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining(name) })
})

test('a wrong option is told by the function that was called', async () => {
  expect(() => api.events(api.codex, { session: '' })).toThrow(/^events needs an id as session/)
  const fault = await faultOf(() => api.run('true', [], { engine: 7 as never }), [])
  expect(fault).toMatchObject({ message: expect.stringMatching(/^run needs an engine .*: run\("codex"/) })
})

const strange = { strange: 1 } as never
test.each<[string, Call]>([
  ['parse', () => api.parse('{}', strange)],
  ['tryParse', () => api.tryParse('{}', strange)],
  ['values', () => api.values(strange)],
  ['outcomeStage', () => api.outcomeStage(strange)],
  ['frames', () => api.frames(strange)],
  ['events', () => api.events(api.codex, strange)],
  ['chat', () => api.chat(strange)],
  ['sse', () => api.sse(strange)],
  ['journal', () => api.journal(inDir('names'), strange)],
  ['tap', () => api.tap('text', strange)],
  ['flow', () => api.flow((next) => next, strange)],
  ['replay', () => api.replay(dir, strange)],
  ['resume', () => api.resume(dir, strange)],
  ['run', () => api.run('true', [], strange)],
  ['ask', () => api.ask(() => '{}', { prompt: 'x', ...(strange as object) })],
  ['snapshots', () => api.snapshots(strange)],
  ['fileCache', () => api.fileCache(inDir('names'), strange)],
  ['serve', () => api.serve({ dir, ...(strange as object) })],
  ['agUi', () => views.agUi(strange)],
  ['agUiSse', () => views.agUiSse(strange)],
  ['aiSdk', () => views.aiSdk(strange)],
  ['aiSdkSse', () => views.aiSdkSse(strange)],
  ['markdown', () => views.markdown(strange)],
  ['redact', () => views.redact(strange)],
  ['redactor', () => views.redactor(strange)],
  ['pty of run', () => api.run('true', [], { pty: strange })],
  ['fsDiff of run', () => api.run('true', [], { fsDiff: strange })],
  ['sessions of serve', () => api.serve({ dir, sessions: strange })],
  ['tls of ship', () => nats.ship(dir, { tls: strange } as never)],
  ['work', () => api.work({ issue_ref: 'a#1', run_id: 'r', repo_dir: dir }, strange)],
  ['subscribe', () => nats.subscribe(strange)],
  ['ship', () => nats.ship(dir, strange)],
  ['mirror', () => nats.mirror(dir, strange)],
  ['natsLedger', () => nats.natsLedger(strange)],
])('%s refuses an option that it does not have', async (name, call) => {
  const fault = await faultOf(call, [])
  expect(fault).toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining(`${name} has no option "strange"`),
  })
})

test.each<[string, Call]>([
  ['tag', () => api.values({ tga: 'json' } as never)],
  ['maxDepth', () => api.parse('{}', { maxdepth: 3 } as never)],
  ['idleTimeout', () => api.run('true', [], { idleTimout: 3 } as never)],
  ['heartbeat', () => api.sse({ heartBeat: 3 } as never)],
])('an option that is nearly %s is answered with that name', async (name, call) => {
  expect(await faultOf(call, [])).toMatchObject({
    message: expect.stringMatching(`; did you mean ${name}\\?$`),
  })
})

test('an option without a near name lists those that there are', () => {
  expect(() => api.sse({ retry: 3 } as never)).toThrow('sse has no option "retry"; it has heartbeat')
  expect(() => api.chat({ [`\u001b${'x'.repeat(1e5)}`]: 1 } as never)).toThrow(
    /^chat has no option "\\u001bx{38}…"/,
  )
})

test('an unknown option that is undefined is left alone', () => {
  expect(api.parse('{}', { strange: undefined } as never)).toEqual({})
})

test('a journal that was refused for its options is free for the next', async () => {
  expect(() => api.journal(inDir('free'), { signal: 7 as never })).toThrow(api.Fault)
  await destroyed(api.journal(inDir('free')) as never)
})

test('what is no completion and no event is unknown and none', () => {
  expect(api.outcomeOf(undefined as never)).toBe('unknown')
  expect(api.isEvent(undefined as never, 'raw.stdout')).toBe(false)
})
