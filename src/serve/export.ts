import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  areTexts,
  checkPath,
  misfit,
  NOT_TAKEN,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { readBlock } from '../disk/plain-file.ts'
import type { AgentEvent } from '../events/event.ts'
import { type Attempt, listAttempts, shownChannels, singleLog, withLog } from '../run/attempt-logs.ts'
import { readMeta } from '../run/meta.ts'
import { type ReplayOptions, replay } from '../run/replay.ts'
import { fixedDir } from '../run/run-directory.ts'
import { through } from '../streams/flow.ts'
import type { Channel } from '../text/chunk.ts'
import { markdownStage } from '../views/markdown/markdown.ts'
import { html } from '../views/markdown/safe.ts'
import { type HiddenSecrets, type Redactor, redactorsForTwo } from '../views/redact/redact.ts'
import { redactStage } from '../views/redact/redact-stage.ts'
import { realTime, runInfo } from './build-info.ts'
import { type Outgoing, refuse } from './http-response.ts'
import { EMBEDDED_ID, type EmbeddedData, type EmbeddedRun, type EmbeddedStream } from './page/embedded.ts'
import { pageBody, pageScript, pageStyle } from './page-text.js'
import { withoutSecrets } from './redact-served.ts'
import type { FoundRun } from './run-finder.ts'
import type { RunInfo } from './run-info.ts'
import { OverviewReader, type RunOverview, readLogs } from './run-overviews.ts'

/** A log of a run: its path, or its content. */
export interface ExportLog {
  readonly attempt: number
  readonly stream: Channel
  /** The bytes from there; fewer than `length` at its end. */
  readonly read: (from: number, length: number) => Buffer
  readonly total: number
}

export interface ExportSource {
  /** The name on the page. */
  readonly name: string
  /** All its events, in order; called again if what is found late must be hidden before, too. */
  readonly events: () => AsyncIterable<AgentEvent>
  readonly attempts: readonly Attempt[]
  readonly logs: readonly ExportLog[]
}

/** What a run can be exported to. */
export type ExportFormat = 'md' | 'html' | 'json'

export interface ExportOptions {
  readonly to: ExportFormat
  /** Hides secrets, and leaves out the raw logs; false leaves everything unchanged. */
  readonly redact: boolean
  /** More texts to hide wherever they occur, of four characters or more. */
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
  /** After the text was read: the secrets in its events. */
  readonly hidden: () => HiddenSecrets | undefined
}

/** Size of a piece of a log in the page. */
const RAW_PIECE = 1 << 20
/** Characters of events in a piece: each piece costs a few turns. */
const TEXT_PIECE = 1 << 16
/** Characters that are kept until a run was read; a longer text is written in a second reading. */
const MAX_KEPT = 1 << 24

/**
 * A recorded run in one file, in pieces: Markdown for an issue, a page that needs no server, or its data as
 * JSON. `path` is an audit directory or a log. Unless `redact` is false, it has no secrets and no raw log.
 *
 * @example
 * for await (const text of exportRun('.audit/latest', { to: 'md' })) console.log(text)
 */
export function exportRun(path: string, options: RunExportOptions): AsyncIterable<string> {
  const example = 'exportRun(".audit/latest", { to: "html" })'
  checkPath('exportRun', path, example)
  const { to, ...rest } = readOptions('exportRun', options, example, EXPORT_OPTIONS)
  if (to === undefined) throw misfit('exportRun', "'md', 'html' or 'json' as to", to, example)
  return exportSource(recordedSource(path), { to, ...rest }).text
}

/** The options of `exportRun`. */
export interface RunExportOptions extends Omit<ExportOptions, 'redact'> {
  /** Hides secrets, and leaves out the raw logs; false leaves everything unchanged. @default true */
  readonly redact?: boolean | undefined
}

const EXPORT_OPTIONS = {
  signal: NOT_TAKEN,
  to: { words: ['md', 'html', 'json'] },
  redact: { default: true },
  hide: { is: areTexts, must: 'be an array of texts' },
  maxRaw: { default: 33_554_432 },
} as const satisfies OptionTable<RunExportOptions>

/** A recorded run, or a single log of one. Throws if the path is neither. */
export function recordedSource(given: string, reading: ReplayOptions = {}): ExportSource {
  const path = fixedDir(given)
  // It throws if the path is not a run, before anything is written.
  const first = replay(path, reading)
  const isFile = fs.statSync(path).isFile()
  const attempts = isFile ? [singleLog(fs.realpathSync(path), basename(path))] : listAttempts(path)
  const events = twice(first, async () => replay(path, reading))
  return { name: runName(path), events, attempts, logs: logsOf(attempts) }
}

/** The events that were opened already, and on the second call those of another reading. */
export function twice(
  first: AsyncIterable<AgentEvent>,
  again: () => Promise<AsyncIterable<AgentEvent>>,
): ExportSource['events'] {
  let opened: AsyncIterable<AgentEvent> | undefined = first
  return async function* () {
    const events = opened ?? (await again())
    opened = undefined
    yield* events
  }
}

/** A run is named by its directory; `.audit` and `stdout.log` by their parent, too. */
export function runName(path: string): string {
  const full = resolve(path)
  const own = basename(full)
  return own === '.audit' || own.endsWith('.log') ? `${basename(dirname(full))}/${own}` : own
}

/**
 * A run in one file: Markdown for an issue, a page that needs no server, or its data as JSON. Secrets are
 * hidden in everything that is exported, and then no raw log is in it; nothing is written to the directory of
 * the run. It is read again if a password was found: that is also hidden before the line that identifies it.
 */
export function exportSource(source: ExportSource, options: ExportOptions): Exported {
  const { to, redact, hide: patterns = [], maxRaw = EXPORT_OPTIONS.maxRaw.default } = options
  let hide: Redactor | undefined
  const written = (): AsyncIterable<string> => {
    const events = hide ? through(source.events(), redactStage(hide)) : source.events()
    if (to === 'md') return through(events, markdownStage())
    if (to === 'json') return dataOf({ ...source, logs: [] }, events, hide, 0)
    return pageOf(source.name, dataOf(source, events, hide, maxRaw))
  }
  async function* text(): AsyncGenerator<string> {
    if (!redact) return yield* written()
    const { scout, hidAll, again } = redactorsForTwo({ patterns })
    hide = scout
    const pieces = await kept(written())
    if (pieces && hidAll()) return yield* pieces
    hide = again()
    yield* written()
  }
  return { text: text(), hidden: () => hide?.hidden() }
}

/** All pieces of a text, which is read to its end; undefined if they are too long to keep. */
async function kept(pieces: AsyncIterable<string>): Promise<string[] | undefined> {
  let some: string[] | undefined = []
  let length = 0
  for await (const piece of pieces) {
    length += piece.length
    if (length > MAX_KEPT) some = undefined
    some?.push(piece)
  }
  return some
}

/** The page of `serve` with the data in it. Its policy allows only its own script and style. */
async function* pageOf(name: string, data: AsyncIterable<string>): AsyncGenerator<string> {
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
<title>${html(name)} · sluice</title>
<link rel="icon" href="data:,">
<style>${pageStyle}</style>
</head>
<body>
${pageBody}<script type="application/json" id="${EMBEDDED_ID}">`
  for await (const piece of data) yield piece.replaceAll('<', '\\u003c')
  yield `</script>
<script>${pageScript}</script>
</body>
</html>
`
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

/** The data of a page as JSON. Its last member is the count, which is known last. */
async function* dataOf(
  source: ExportSource,
  events: AsyncIterable<AgentEvent>,
  hide: Redactor | undefined,
  maxRaw: number,
): AsyncGenerator<string> {
  const version: EmbeddedData['version'] = 1
  let head = `{"version":${version},"runs":[{"events":[`
  const reader = new OverviewReader()
  let first: AgentEvent | undefined
  for await (const event of events) {
    head += `${first ? ',' : ''}${JSON.stringify(event)}`
    first ??= event
    reader.take(event)
    if (head.length < TEXT_PIECE) continue
    yield head
    head = ''
  }
  const info = infoOf(source, first, reader.overview(), hide)
  yield `${head}],"info":${JSON.stringify(info satisfies EmbeddedRun['info'])},"streams":[`
  const logs = hide ? [] : source.logs.filter(({ total }) => total > 0)
  const room = Math.floor(maxRaw / Math.max(1, logs.length))
  for (const [i, log] of logs.entries()) {
    const { attempt, stream, total } = log
    const head = { attempt, stream, total } satisfies Omit<EmbeddedStream, 'pieces'>
    yield `${i === 0 ? '' : ','}${JSON.stringify(head).slice(0, -1)},"pieces":[`
    for (const [from, to] of stretches(total, room)) {
      for (let at = from; at < to; at += RAW_PIECE) {
        const base64 = log.read(at, Math.min(to - at, RAW_PIECE)).toString('base64')
        yield `${at === 0 ? '' : ','}${JSON.stringify({ from: at, base64 })}`
      }
    }
    yield ']}'
  }
  yield `]}]${hide ? `,"redacted":${hide.hidden().total}` : ''}}`
}

/** The whole log, or its start and its end. */
function stretches(total: number, room: number): [number, number][] {
  if (total <= room) return [[0, total]]
  const half = Math.floor(room / 2)
  return [
    [0, half],
    [total - half, total],
  ]
}

/** The run info that `/runs` would return, from its events and metas. */
function infoOf(
  { name, attempts, logs }: ExportSource,
  first: AgentEvent | undefined,
  told: RunOverview | undefined,
  hide: Redactor | undefined,
): RunInfo {
  const metas = attempts.map((attempt) => readMeta(attempt.meta, attempt.within))
  const meta = metas.at(-1)
  const { exit_code = null, signal = null } = told?.completion?.evidence ?? {}
  const info = runInfo({
    ...{ id: name, attempts, told, first: metas[0] },
    last: { ...meta, exit_code: meta?.exit_code ?? exit_code, signal: meta?.signal ?? signal },
    started_at: realTime(first?.ts),
    ended_at: realTime(told?.ts),
    streams: logs.map(({ attempt, stream, total }) => ({ attempt, stream, bytes: total })),
  })
  return hide ? withoutSecrets(info, hide) : info
}

/** The logs of attempts. They are opened for each read: a run has few, and they are read in large pieces. */
export function logsOf(attempts: readonly Attempt[]): ExportLog[] {
  return attempts.flatMap(({ number, logs, within }) =>
    shownChannels.flatMap((stream) => {
      const path = logs[stream]
      if (path === undefined) return []
      const total = withLog(path, within, (fd) => fs.fstatSync(fd).size)
      // What is added meanwhile does not belong to this export.
      const read = (from: number, length: number) =>
        withLog(path, within, (fd) => readBlock(fd, from, Math.max(0, Math.min(length, total - from))))
      return [{ attempt: number, stream, read, total }]
    }),
  )
}

export function logOfBytes(bytes: Buffer): ExportLog {
  return {
    attempt: 1,
    stream: 'stdout',
    read: (from, length) => bytes.subarray(from, from + length),
    total: bytes.length,
  }
}

/** Each export reads a whole run, often twice. */
const MAX_AT_ONCE = 4
const types = { html: 'text/html; charset=utf-8', md: 'text/markdown; charset=utf-8' } as const
let sending = 0

/** Sends a run as a file to download, with its secrets hidden; a run in progress as far as it is now. */
export async function sendExport(
  response: Outgoing,
  { info, place }: FoundRun,
  to: keyof typeof types,
): Promise<void> {
  const attempts = place.attempts()
  if (attempts.length === 0) return refuse(response, 404, 'this run has no logs to export')
  if (sending >= MAX_AT_ONCE) {
    response.setHeader('retry-after', '5')
    return refuse(response, 503, 'too many exports at once')
  }
  const leave = new AbortController()
  response.once('close', () => leave.abort())
  const events = () => readLogs(place, { signal: leave.signal })
  sending++
  try {
    const source = { name: info.id, events, attempts, logs: logsOf(attempts) }
    const pieces = exportSource(source, { to, redact: true }).text[Symbol.asyncIterator]()
    // The run is read once before the first piece: until then it can be said what is wrong with it.
    const first = await pieces.next()
    response.writeHead(200, {
      'content-type': types[to],
      'content-disposition': `attachment; filename="run.${to}"`,
    })
    const text = async function* () {
      for (let piece = first; !piece.done; piece = await pieces.next()) yield piece.value
    }
    await pipeline(Readable.from(text()), response)
  } catch {
    if (!response.headersSent) return refuse(response, 403, UNREADABLE)
    // The client left, or the logs can no longer be read: the file is cut off, which the client sees.
    response.destroy()
  } finally {
    sending--
  }
}

const UNREADABLE =
  'a file of this run cannot be read; one that has another name outside of the served directory, a hard link, is not: copy the run to export it'
