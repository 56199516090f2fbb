import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { drive } from '../../src/base/stage.ts'
import { engines } from '../../src/engines/engines-by-name.ts'
import type { FsDiff } from '../../src/events/artifacts.ts'
import type { Engine, Picker } from '../../src/events/engine.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { eventStage } from '../../src/events/event-stage.ts'
import type { BytesChunk, Channel, Chunk, ExitChunk } from '../../src/text/chunk.ts'
import { type Chat, chatStage } from '../../src/views/chat.ts'

/** One recorded run: its logs, how they were read, how it ended. */
export interface Fixture {
  readonly engine: keyof typeof engines
  readonly name: string
  readonly path: string
  readonly logs: readonly BytesChunk[]
  readonly reads: readonly { channel: Channel; from: number; to: number }[]
  readonly exit: ExitChunk
  readonly fsDiff: FsDiff | undefined
  readonly dir: string
}

/** A session file is read in place of stdout. */
const files = {
  stdout: ['stdout.log', 'session.jsonl', 'session.json'],
  stderr: ['stderr.log'],
  pty: ['pty-output.log'],
  stdin: ['stdin.log'],
} as const

const known = new Map<string, readonly Fixture[]>()

/** Every folder of `fixtures/<engine>/`, read once. */
export function fixtures(root = 'fixtures'): readonly Fixture[] {
  const all = known.get(root) ?? readFixtures(root)
  known.set(root, all)
  return all
}

function readFixtures(root: string): Fixture[] {
  const names = Object.keys(engines) as (keyof typeof engines)[]
  return names.flatMap((engine) => {
    const folder = join(root, engine)
    if (!existsSync(folder)) return []
    return readdirSync(folder).map((name) => readFixture(engine, name, join(folder, name)))
  })
}

function readFixture(engine: keyof typeof engines, name: string, path: string): Fixture {
  const json = (file: string) => JSON.parse(readFileSync(join(path, file), 'utf8'))
  const meta = json('meta.json')
  const logs = (['stdin', 'stdout', 'stderr', 'pty'] as const).flatMap((channel) => {
    const file = files[channel].map((name) => join(path, name)).find(existsSync)
    return file === undefined ? [] : [{ channel, bytes: readFileSync(file) }]
  })
  const killed = meta.exit_code < 0
  return {
    engine,
    name,
    path,
    logs,
    reads: existsSync(join(path, 'chunks.jsonl'))
      ? readReads(readFileSync(join(path, 'chunks.jsonl'), 'utf8'))
      : [],
    exit: {
      channel: 'exit',
      code: killed ? null : meta.exit_code,
      signal: killed ? signals[-meta.exit_code]! : null,
    },
    fsDiff: existsSync(join(path, 'fs-diff.json')) ? json('fs-diff.json') : undefined,
    dir: meta.cwd ?? '/tmp/ws2',
  }
}

const signals: Record<number, string> = { 2: 'SIGINT', 9: 'SIGKILL', 15: 'SIGTERM' }

/** Both spellings of a recorded read: `[stream, offset, length, ms]` and `{stream, off, len}`. */
function readReads(text: string): Fixture['reads'] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const read = JSON.parse(line)
      const [stream, from, length] = Array.isArray(read) ? read : [read.stream, read.off, read.len]
      return { channel: stream === 'pty-output' ? 'pty' : stream, from, to: from + length }
    })
}

/** The logs one after the other, each in pieces of `size`. */
export function inPieces(fixture: Fixture, size = Number.POSITIVE_INFINITY): Chunk[] {
  const pieces: Chunk[] = []
  for (const { channel, bytes } of fixture.logs) {
    for (let at = 0; at < bytes.length; at += size)
      pieces.push({ channel, bytes: bytes.subarray(at, at + size) })
  }
  return [...pieces, fixture.exit]
}

/** The logs one after the other, each as it was read. */
export function asRead(fixture: Fixture): Chunk[] {
  const pieces = fixture.logs.flatMap((log) => {
    const cut = arrival(fixture).filter((piece) => piece.channel === log.channel)
    return cut.length > 0 ? cut : [log]
  })
  return [...pieces, fixture.exit]
}

/** The pieces in the order they were read, whatever the channel. */
export function arrival(fixture: Fixture): BytesChunk[] {
  return fixture.reads.flatMap(({ channel, from, to }) => {
    const log = fixture.logs.find((one) => one.channel === channel)
    return log ? [{ channel, bytes: log.bytes.subarray(from, to) }] : []
  })
}

/** The events of a run with everything that could differ held still. */
export function eventsOf(
  fixture: Fixture,
  chunks: readonly Chunk[],
  profile: Engine | Picker = engines[fixture.engine],
): AgentEvent[] {
  const { fsDiff, dir, engine, name } = fixture
  return drive(eventStage(profile, { runId: `${engine}/${name}`, clock: () => 0, fsDiff, dir }), chunks)
}

export function chatOf(events: readonly AgentEvent[]): Chat[] {
  return drive(chatStage(), events)
}

export function asLines(records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('')
}

/** Plain text of an engine, or nothing at all, could come from any program. */
export function recognisable({ engine, name }: Fixture): boolean {
  if (engine === 'continue') return /^(done|cjk|tool_ok)\.json-/.test(name)
  if (/^cut\.json-|^sigterm\.pipe/.test(name) && ['nanocoder', 'grok'].includes(engine)) return false
  return !/^(text\.|.*\.text-|silent|killed\.pipe|thrown-error|session-line)/.test(name) || engine === 'text'
}
