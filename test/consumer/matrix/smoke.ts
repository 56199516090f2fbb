// Thirteen checks of the installed package, the same in every runtime. Each gives a value; `npm run matrix`
// compares the hashes of the values. Usage: smoke.js FIXTURES, prints one line of JSON with the values and
// their hashes.
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  auto,
  chat,
  type AgentEvent as Event,
  events,
  Fault,
  frames,
  jsonl,
  parse,
  replay,
  run,
  sse,
  tap,
  tryParse,
  values,
} from 'agent-sluice'
import { codex } from 'agent-sluice/engines'
import { journal, serve } from 'agent-sluice/serve'

const [, , fixtures = 'fixtures'] = process.argv
const pair = join(fixtures, 'codex', '01-plain.tee80')
const log = join(fixtures, 'codex', '03b-tool-fail.pipe', 'stdout.log')
const bytes = readFileSync(log)
const home = mkdtempSync(join(tmpdir(), 'sluice-smoke-'))
const folder = (name: string) => mkdtempSync(join(home, `${name}-`))
const options = (name: string) => ({ engine: codex, audit: folder(name), cwd: home, fsDiff: false }) as const

const said = [
  'Thinking <think>{"a": 0}</think> … <json>{"a": 1}</json> and\n```json\n{"a": 2,}\n```\n',
  '{"a": "Grüße 😀"} then {"a": [1, 2',
].join('')

const checks: Record<string, () => unknown> = {
  async values() {
    const sizes = await Promise.all(
      [1, 7, 4096].map(async (size) => {
        const outcomes = await inPieces(Buffer.from(said), size).pipe(values()).toArray()
        return outcomes.map((one) => [one.ok ? one.value : one.fault.code, one.frame?.from, one.repair_level])
      }),
    )
    expect(sizes[0], sizes[1])
    expect(sizes[0], sizes[2])
    return sizes[0]
  },
  frames: () => inPieces(Buffer.from(said), 5).pipe(frames()).toArray(),
  parse() {
    expect(parse('Sure: {"a": 1,}'), { a: 1 })
    const { ok, notes } = tryParse('{"a": 12345678901234567890}')
    return [ok, notes, caught(() => parse('no JSON here'))]
  },
  async events() {
    const found = []
    for (const engine of readdirSync(fixtures).sort())
      for (const name of readdirSync(join(fixtures, engine)).sort())
        if (existsSync(join(fixtures, engine, name, 'stdout.log'))) {
          const source = tap(readFileSync(join(fixtures, engine, name, 'stdout.log')))
          const told = await source.pipe(events(auto, { clock: () => 0 })).toArray()
          found.push([engine, name, hash(told)])
        }
    return found
  },
  async 'replay+dedupe'() {
    const told = await replay(pair, { engine: codex }).toArray()
    const messages = told.filter(({ type }) => type === 'agent.message.final')
    expect(new Set(messages.map(({ raw_ref }) => raw_ref?.stream)), new Set(['stdout']))
    return told.map(still)
  },
  ajv() {
    const schema = {
      type: 'object',
      required: ['at'],
      properties: { at: { type: 'string', format: 'date-time' } },
    }
    const good = parse('{"at": "2026-01-01T00:00:00Z"}', { schema })
    const bad = tryParse('{"at": "tomorrow"}', { schema })
    return [good, bad.ok ? 'passed' : [bad.fault.code, bad.fault.errors]]
  },
  async 'U+2028'() {
    const line = '{"a":"x\u2028y\u2029z"}\n'
    const outcomes = await tap(line + line)
      .pipe(values({ lines: true }))
      .toArray()
    let text = ''
    await pipeline(
      tap(line).pipe(values({ lines: true })),
      jsonl(),
      collect((more) => {
        text += more
      }),
    )
    return [outcomes.map((one) => one.ok && one.value), text]
  },
  async run() {
    const agent = run('cat', [log], options('run'))
    const told = await agent.toArray()
    const { outcome, tokens, exitCode } = await agent.end
    return [told.map(still), outcome, tokens, exitCode]
  },
  async 'journal+chat+sse'() {
    const dir = folder('journal')
    let text = ''
    await pipeline(
      tap(bytes).pipe(events(codex, { clock: () => 0 })),
      journal(dir),
      chat(),
      sse(),
      collect((more) => {
        text += more
      }),
    )
    return [text, readFileSync(join(dir, 'events.jsonl'), 'utf8')]
  },
  async serve() {
    const dir = folder('served')
    const agent = run('cat', [log], { ...options('unused'), audit: join(dir, 'one') })
    const told = await agent.toArray()
    const { url, close } = await serve({ dir, port: 0 })
    const [one] = (await (await fetch(new URL('/runs', url))).json()) as { outcome: string; state: string }[]
    expect(one?.outcome, (await agent.end).outcome)
    const stream = await (await fetch(new URL('/runs/one/events', url))).text()
    const raw = await (await fetch(new URL('/runs/one/raw/stdout?from=0&to=100', url))).text()
    const missing = await fetch(new URL('/runs/none', url))
    await missing.text()
    await close()
    const served = stream.split('\n').filter((line) => line.startsWith('data: '))
    expect(
      served.map((line) => JSON.parse(line.slice(6))),
      told,
    )
    return [one?.state, served.length, raw, missing.status]
  },
  async abort() {
    const abort = new AbortController()
    const agent = run(...lingering('abort', { signal: abort.signal }))
    for await (const event of agent) if (event.type === 'agent.message.final') abort.abort()
    const { outcome, reason, signal } = await agent.end
    return [outcome, reason, signal]
  },
  async break() {
    const agent = run(...lingering('break', {}))
    for await (const event of agent) if (event.type === 'agent.message.final') break
    // The end of a flow that was left is not told; the audit directory has it.
    const end = await agent.end.then(
      () => 'told',
      (error) => error.code,
    )
    const { outcome, reason } = JSON.parse(readFileSync(join(agent.audit ?? '', 'meta.1.json'), 'utf8'))
    return [end, outcome, reason]
  },
  async pty() {
    const agent = run('cat', [log], { ...options('pty'), pty: true })
    const told = await agent.toArray()
    return [told.map(still), (await agent.end).outcome]
  },
}

const unhandled: string[] = []
process.on('unhandledRejection', (error) => unhandled.push(`unhandled: ${error}`))
process.on('uncaughtException', (error) => unhandled.push(`uncaught: ${error}`))

const results: Record<string, string> = {}
const found: Record<string, unknown> = {}
for (const [name, check] of Object.entries(checks)) {
  try {
    found[name] = await check()
    results[name] = hash(found[name])
  } catch (error) {
    const missing = Fault.is(error) && error.code === 'PTY_MISSING'
    results[name] = missing ? 'skipped: node-pty does not work there' : `failed: ${error}`
  }
}
console.log(JSON.stringify({ results, unhandled, found }))

function inPieces(from: Uint8Array, size: number) {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < from.length; at += size) pieces.push(from.subarray(at, at + size))
  return tap(pieces)
}

/** An agent that says all it has to say and stays. */
function lingering(name: string, more: { signal?: AbortSignal }) {
  return ['sh', ['-c', 'cat "$1"; sleep 60', 'sh', log], { ...options(name), ...more }] as const
}

/** An event without what differs from run to run. */
function still({ ts: _ts, run_id: _run, correlation: _ids, ...rest }: Event) {
  return rest
}

function collect(take: (text: string) => void): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      take(String(chunk))
      done()
    },
  })
}

function caught(action: () => unknown): unknown {
  try {
    return action()
  } catch (error) {
    return Fault.is(error) ? error.code : String(error)
  }
}

function expect(found: unknown, wanted: unknown): void {
  if (hash(found) !== hash(wanted)) throw new Error(`found ${show(found)}, wanted ${show(wanted)}`)
}

function show(value: unknown): string {
  return JSON.stringify(value instanceof Set ? [...value] : value).slice(0, 400)
}

function hash(value: unknown): string {
  const text = JSON.stringify(value instanceof Set ? [...value] : value)
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
