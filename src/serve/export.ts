import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { readBlock } from '../disk/plain-file.ts'
import type { Event, RawRef } from '../events/event.ts'
import { outcomeOf } from '../events/run-outcome.ts'
import { type Attempt, channels, openLog } from '../run/audit.ts'
import { readMeta } from '../run/meta.ts'
import type { Channel } from '../text/chunk.ts'
import { markdownStage } from '../views/markdown/markdown.ts'
import { type Hidden, type Redactor, redactor, redactStage } from '../views/redact/redact.ts'
import { hiddenLog, merged, type Range, type ReadBytes } from './hidden-log.ts'
import { EMBEDDED_ID, type EmbeddedData, type EmbeddedRun, type EmbeddedStream } from './page/embedded.ts'
import { pageBody, pageScript, pageStyle } from './page-text.ts'
import type { RunInfo } from './run-info.ts'

/** A log of a run: its path, or its content. */
export interface ExportLog {
  readonly attempt: number
  readonly stream: Channel
  readonly read: ReadBytes
  readonly total: number
}

/** A run to export. */
export interface ExportSource {
  /** The name on the page. */
  readonly name: string
  /** All its events, in order; called once to find its secrets and once to write it. */
  readonly events: () => AsyncIterable<Event>
  readonly attempts: readonly Attempt[]
  readonly logs: readonly ExportLog[]
  /** The run goes on, so the last line of a log may be half of one. @default false */
  readonly growing?: boolean | undefined
}

export type ExportFormat = 'md' | 'html' | 'json'

export interface ExportOptions {
  readonly to: ExportFormat
  /** Hides secrets; false leaves everything unchanged. */
  readonly redact: boolean
  /** More texts to hide. */
  readonly hide?: readonly string[] | undefined
  /**
   * Maximum bytes of raw logs in a page, in total; of more, the start and the end of each log are included.
   * @default 32 MiB
   */
  readonly maxRaw?: number | undefined
}

/** A run as text, in pieces, and then what was hidden in it. */
export interface Exported {
  readonly text: AsyncIterable<string>
  /** After the text was read: the secrets in its events, and in its logs. */
  readonly hidden: () => { readonly events: Hidden; readonly logs: Hidden } | undefined
}

const MAX_RAW = 32 << 20
/** Size of a piece of a log in the page. */
const RAW_PIECE = 1 << 20

/**
 * A run in one file: Markdown for an issue, a page that needs no server, or its data as JSON. Secrets are
 * hidden in everything that is exported; nothing is written to the directory of the run. The run is read
 * twice, so that a password is also hidden where it occurs before the line that identifies it.
 */
export function exportRun(source: ExportSource, options: ExportOptions): Exported {
  const { to, redact, hide: own = [], maxRaw = MAX_RAW } = options
  let hiding: Hiding | undefined
  async function* text(): AsyncGenerator<string> {
    if (redact) hiding = await learn(source, own, to === 'html')
    const events = shown(source.events(), hiding)
    if (to === 'md') yield* markdownOf(events)
    else if (to === 'html') yield* pageOf(source, events, hiding, maxRaw)
    else yield* dataOf({ ...source, logs: [] }, events, hiding, 0)
  }
  return {
    text: text(),
    hidden: () => hiding && { events: hiding.events.hidden(), logs: hiding.logs.hidden() },
  }
}

/** Hides the secrets of a run that was read once. */
interface Hiding {
  readonly events: Redactor
  /** For the bytes of logs, one character each. */
  readonly logs: Redactor
  /** By log, the records of message pieces that contain a secret: no search finds one that is cut in two. */
  readonly covered: ReadonlyMap<string, readonly Range[]>
  readonly growing: boolean | undefined
}

async function learn(source: ExportSource, own: readonly string[], logs: boolean): Promise<Hiding> {
  const scout = redactor({ patterns: own })
  const pieces = new Map<string, RawRef[]>()
  const covered = new Map<string, Range[]>()
  for await (const event of source.events()) {
    const hidden = scout.event(event)
    if (event.type === 'agent.message.delta') {
      const { message_id } = event.data
      const refs = pieces.get(message_id) ?? []
      if (event.raw_ref) refs.push(event.raw_ref)
      pieces.set(message_id, refs)
    } else if (event.type === 'agent.message.final') {
      const refs = hidden === event ? [] : (pieces.get(event.data.message_id) ?? [])
      pieces.delete(event.data.message_id)
      for (const { attempt_number, stream, byte_from, byte_to } of refs) {
        const key = keyOf(attempt_number, stream)
        const ranges = covered.get(key) ?? []
        ranges.push({ from: byte_from, to: byte_to })
        covered.set(key, ranges)
      }
    }
  }
  const inLogs = redactor({ patterns: own.map(asBytes) })
  const { growing } = source
  for (const { read, total } of logs ? source.logs : [])
    for (const _ of hiddenLog(read, 0, total, inLogs, { growing }));
  const fromLogs = inLogs.known().map((value) => Buffer.from(value, 'latin1').toString())
  const known = [...new Set([...scout.known(), ...fromLogs])]
  return {
    events: redactor({ patterns: own, known, learn: false }),
    logs: redactor({ patterns: own.map(asBytes), known: known.map(asBytes), learn: false }),
    covered: new Map([...covered].map(([key, ranges]) => [key, merged(ranges)])),
    growing,
  }
}

function keyOf(attempt: number, stream: string): string {
  return `${attempt} ${stream}`
}

/** A text as its bytes, one character each, which is how logs are searched. */
function asBytes(text: string): string {
  return Buffer.from(text).toString('latin1')
}

async function* shown(events: AsyncIterable<Event>, hiding: Hiding | undefined): AsyncGenerator<Event> {
  let made: Event[] = []
  const sink = hiding && redactStage(hiding.events)({ write: (event) => void made.push(event), end() {} })
  for await (const event of events) {
    if (!sink) yield event
    else {
      sink.write(event)
      yield* made
      made = []
    }
  }
}

async function* markdownOf(events: AsyncIterable<Event>): AsyncGenerator<string> {
  const texts: string[] = []
  const sink = markdownStage()({ write: (text) => void texts.push(text), end() {} })
  for await (const event of events) sink.write(event)
  sink.end()
  yield* texts
}

/**
 * The page of `serve` with the data in it. Its policy allows only its own script and style, and no requests.
 */
async function* pageOf(
  source: ExportSource,
  events: AsyncIterable<Event>,
  hiding: Hiding | undefined,
  maxRaw: number,
): AsyncGenerator<string> {
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(pageScript)}'`,
    `style-src '${hashOf(pageStyle)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${htmlText(source.name)} · sluice</title>
<link rel="icon" href="data:,">
<style>${pageStyle}</style>
</head>
<body>
${pageBody}<script type="application/json" id="${EMBEDDED_ID}">`
  for await (const piece of dataOf(source, events, hiding, maxRaw)) yield piece.replaceAll('<', '\\u003c')
  yield `</script>
<script>${pageScript}</script>
</body>
</html>
`
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

function htmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/** The data of a page as JSON. Its last member is the count, which is known last. */
async function* dataOf(
  source: ExportSource,
  events: AsyncIterable<Event>,
  hiding: Hiding | undefined,
  maxRaw: number,
): AsyncGenerator<string> {
  const version: EmbeddedData['version'] = 1
  yield `{"version":${version},"runs":[{"events":[`
  const facts = factsOf()
  for await (const event of events) {
    yield `${facts.count() === 0 ? '' : ','}${JSON.stringify(event)}`
    facts.add(event)
  }
  const info = facts.info(source, hiding?.events)
  yield `],"info":${JSON.stringify(info satisfies EmbeddedRun['info'])},"streams":[`
  const logs = source.logs.filter(({ total }) => total > 0)
  const room = Math.floor(maxRaw / Math.max(1, logs.length))
  for (const [i, log] of logs.entries()) {
    const { attempt, stream, total } = log
    const head = { attempt, stream, total } satisfies Omit<EmbeddedStream, 'pieces'>
    yield `${i === 0 ? '' : ','}${JSON.stringify(head).slice(0, -1)},"pieces":[`
    let first = true
    for (const [from, to] of stretches(total, room)) {
      let at = from
      for (const bytes of bytesOf(log, from, to, hiding)) {
        yield `${first ? '' : ','}${JSON.stringify({ from: at, base64: bytes.toString('base64') })}`
        at += bytes.length
        first = false
      }
    }
    yield ']}'
  }
  const redacted = hiding && hiding.events.hidden().total + hiding.logs.hidden().total
  yield `]}]${redacted === undefined ? '' : `,"redacted":${redacted}`}}`
}

/** The whole log, or its start and its end. */
function stretches(total: number, room: number): [number, number][] {
  if (total <= room) return [[0, total]]
  const half = Math.floor(room / 2)
  return half === 0
    ? []
    : [
        [0, half],
        [total - half, total],
      ]
}

function* bytesOf(
  { attempt, stream, read }: ExportLog,
  from: number,
  to: number,
  hiding: Hiding | undefined,
) {
  if (hiding) {
    const covered = hiding.covered.get(keyOf(attempt, stream))
    yield* hiddenLog(read, from, to, hiding.logs, { covered, growing: hiding.growing })
  } else for (let at = from; at < to; at += RAW_PIECE) yield read(at, Math.min(to - at, RAW_PIECE))
}

/** The run info that `/runs` would return, from its events and metas. */
function factsOf() {
  let count = 0
  let first: Event | undefined
  let last: Event | undefined
  let end: Extract<Event, { type: 'lifecycle.completion.state' }> | undefined
  return {
    count: () => count,
    add(event: Event) {
      count++
      first ??= event
      if (last && event.attempt_number !== last.attempt_number) end = undefined
      last = event
      if (event.type === 'lifecycle.completion.state') end = event
    },
    info({ name, attempts, logs }: ExportSource, hide: Redactor | undefined): RunInfo {
      const metas = attempts.map((attempt) => readMeta(attempt.meta, attempt.within))
      const meta = metas.at(-1)
      const argv = meta?.argv ?? []
      return {
        id: name,
        run_id: last?.run_id ?? meta?.run_id ?? null,
        engine: last?.source.engine ?? meta?.engine ?? null,
        attempts: Math.max(1, attempts.length),
        state: end?.data.state ?? 'unknown',
        outcome: end ? outcomeOf(end.data) : (meta?.outcome ?? 'unknown'),
        reason_code: end?.data.reason_code ?? null,
        exit_code: meta?.exit_code ?? end?.data.evidence.exit_code ?? null,
        signal: meta?.signal ?? end?.data.evidence.signal ?? null,
        started_at: metas[0]?.started_at ?? timeOf(first),
        ended_at: meta?.ended_at ?? timeOf(last),
        argv: hide ? (hide.value(argv) as string[]) : argv,
        streams: logs.map(({ attempt, stream, total }) => ({ attempt, stream, bytes: total })),
      }
    },
  }
}

function timeOf(event: Event | undefined): string | null {
  return event && Date.parse(event.ts) > 0 ? event.ts : null
}

/** The logs of attempts. They are opened for each read: a run has few, and they are read in large pieces. */
export function logsOf(attempts: readonly Attempt[]): ExportLog[] {
  return attempts.flatMap(({ number, logs, within }) =>
    channels.flatMap((stream) => {
      const path = logs[stream]
      if (path === undefined) return []
      const opened = <T>(use: (fd: number) => T): T => {
        const fd = openLog(path, within)
        try {
          return use(fd)
        } finally {
          fs.closeSync(fd)
        }
      }
      const total = opened((fd) => fs.fstatSync(fd).size)
      // What is added meanwhile does not belong to this export.
      const read: ReadBytes = (from, length) =>
        opened((fd) => readBlock(fd, from, Math.max(0, Math.min(length, total - from))))
      return [{ attempt: number, stream, read, total }]
    }),
  )
}

/** Bytes in memory as a log. */
export function logOfBytes(bytes: Buffer): ExportLog {
  return {
    attempt: 1,
    stream: 'stdout',
    read: (from, length) => bytes.subarray(from, from + length),
    total: bytes.length,
  }
}
