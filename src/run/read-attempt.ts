import fs from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { OptionTable } from '../base/check-options.ts'
import { Fault, quote } from '../base/fault.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import { openPlain } from '../disk/plain-file.ts'
import { auto } from '../engines/auto.ts'
import { engines } from '../engines/engines-by-name.ts'
import { checkEngine, type Engine, type Picker } from '../events/engine.ts'
import type { EventOptions } from '../events/event-stage.ts'
import type { Channel, Chunk } from '../text/chunk.ts'
import { type Attempt, channels, fileNames, listAttempts, openLog } from './audit.ts'
import { type Read, readChunkLog } from './chunk-log.ts'
import type { FsDiff } from './fs-diff.ts'
import { exitEvidence, type Meta, readJson, readMeta } from './meta.ts'
import type { Opening, TimedChunk } from './timed.ts'

/** Options that override how an attempt was recorded. */
export interface RecordedOptions extends Omit<EventOptions, 'attempt' | 'clock' | 'fsDiff' | 'dir'> {
  /** @default the engine that `meta.N.json` names, else auto */
  readonly engine?: Engine | Picker | undefined
  /** A custom engine that `meta.N.json` may name besides those of this package. @default none */
  readonly custom?: Engine | Picker | undefined
}

/** What is left out is as the attempt was recorded. */
export const RECORDED_OPTIONS = {
  engine: {},
  custom: {},
  runId: {},
  window: {},
  doneMarker: {},
  maxFrame: {},
  schema: {},
} as const satisfies OptionTable<RecordedOptions>

const LF = 10
const BLOCK = 64 * 1024

/**
 * Reads the files of one attempt as the run that wrote them did: chunk by chunk, in the order and with the
 * times of `chunks.N.jsonl`, and then the exit. Bytes that no chunk covers (or all, without a chunk log)
 * follow in steps of 64 KiB from each log in turn, so that a PTY copy stays close to its stdout.
 *
 * `found` is called with the bytes that no chunk covers, before they are emitted, and returns their time.
 */
export function* readAttempt(
  dir: string,
  attempt: Attempt,
  options: RecordedOptions = {},
  found?: (channel: Channel, from: number, length: number) => number,
): Generator<TimedChunk | Opening> {
  const meta = endedMeta(attempt)
  const started = startOf(attempt, meta)
  yield opening(dir, attempt, meta, options)

  const logs = new Map<Channel, number>()
  try {
    for (const channel of channels) {
      const path = attempt.logs[channel]
      if (path !== undefined) logs.set(channel, openLog(path, attempt.within))
    }
    const present = [...logs.keys()]
    const first: Chunk = { channel: present[0] ?? 'stdout', bytes: Buffer.alloc(0), channels: present }
    let time = started
    yield { chunk: first, time }
    const done = new Map<Channel, number>(present.map((channel) => [channel, 0]))
    for (const read of readChunkLog(attempt.chunks, attempt.within)) {
      if (done.get(read.channel) !== read.from) break
      time = started + read.ms
      const covered = yield* bytesOf(logs.get(read.channel)!, read, time)
      done.set(read.channel, read.from + covered)
      if (covered < read.length) break
    }
    for (let more = true; more; ) {
      more = false
      for (const [channel, fd] of logs) {
        const from = done.get(channel)!
        const bytes = readBlock(fd, from, BLOCK)
        if (bytes.length === 0) continue
        more = true
        if (found) time = found(channel, from, bytes.length)
        yield { chunk: { channel, bytes }, time }
        done.set(channel, from + bytes.length)
      }
    }
    const exit = exitOf(meta)
    if (exit) yield { chunk: exit, time: Math.max(time, started + (meta.duration_ms ?? 0)) }
  } finally {
    for (const fd of logs.values()) fs.closeSync(fd)
  }
}

/** Everything known about an attempt before its first byte. */
export function opening(
  dir: string,
  attempt: Attempt,
  meta: Partial<Meta>,
  options: RecordedOptions,
): Opening {
  const { engine, custom, ...rest } = options
  if (engine) checkEngine('engine', engine)
  const named = custom && custom.name === meta.engine ? custom : engineNamed(meta.engine)
  return {
    engine: engine ?? named ?? auto,
    opens: {
      ...rest,
      doneMarker: rest.doneMarker ?? meta.reading?.done_marker,
      maxFrame: rest.maxFrame ?? meta.reading?.max_frame,
      window: rest.window ?? meta.reading?.window,
      runId: rest.runId ?? meta.run_id ?? runIdOf(dir, attempt),
      attempt: attempt.number,
      dir: meta.cwd,
    },
    // It may not exist yet: a run in progress has none.
    fsDiff: () =>
      attempt.alone
        ? undefined
        : readFsDiff(attempt.fsDiff ?? join(dir, fileNames(attempt.number).fsDiff), attempt.within),
    time: startOf(attempt, meta),
  }
}

/**
 * The meta of an attempt that has ended. Ours are written atomically, so one that exists but cannot be read
 * was damaged: without its exit code, a failed run would look like a good one.
 */
export function endedMeta(attempt: Attempt): Partial<Meta> {
  const { meta: path, within } = attempt
  const meta = readMeta(path, within)
  if (meta || path === undefined) return meta ?? {}
  throw new Fault(
    'NOT_AN_AUDIT',
    `${quote(path, 200)} is damaged, so how the attempt ended is not known; remove it to read the logs without it`,
  )
}

/** The engine of that name, if there is one. */
function engineNamed(name: string | undefined): Engine | undefined {
  if (name === undefined || !Object.hasOwn(engines, name)) return undefined
  return engines[name as keyof typeof engines]
}

/** The id of the run in this directory: from its events or other attempts, else the name of the directory. */
function runIdOf(dir: string, { within, alone }: Attempt): string {
  const known = firstRunId(join(dir, EVENTS_FILE), within)
  if (known !== undefined) return known
  for (const { meta } of alone ? [] : listAttempts(dir, within)) {
    const said = readMeta(meta, within)?.run_id
    if (said !== undefined) return said
  }
  const path = resolve(dir)
  const name = basename(path) === '.audit' ? basename(dirname(path)) : basename(path)
  return name || 'run'
}

/** When the attempt started: from its meta, else the age of its first log. */
export function startOf(attempt: Attempt, meta: Partial<Meta>): number {
  if (meta.started_at !== undefined) return Date.parse(meta.started_at)
  const path = channels.map((channel) => attempt.logs[channel]).find((log) => log !== undefined)
  return path === undefined ? 0 : Math.floor(fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
}

/** The exit as a chunk, if known. */
export function exitOf(meta: Partial<Meta>): Chunk | undefined {
  const { exit_code = null, signal = null, reason, notes = [] } = meta
  if (exit_code === null && signal === null) return undefined
  return { channel: 'exit', ...exitEvidence({ code: exit_code, signal }, reason), notes }
}

function* bytesOf(fd: number, read: Read, time: number): Generator<TimedChunk, number> {
  for (let at = 0; at < read.length; ) {
    const bytes = readBlock(fd, read.from + at, Math.min(BLOCK, read.length - at))
    // The log is shorter than it was: use what is there.
    if (bytes.length === 0) return at
    yield { chunk: { channel: read.channel, bytes }, time }
    at += bytes.length
  }
  return read.length
}

export function readBlock(fd: number, from: number, length: number): Buffer {
  const block = Buffer.allocUnsafe(length)
  return block.subarray(0, fs.readSync(fd, block, 0, length, from))
}

function readFsDiff(path: string | undefined, within: string | undefined): FsDiff | undefined {
  const found = readJson(path, within)
  if (!found) return undefined
  const list = (key: string) => {
    const paths = found[key]
    return Array.isArray(paths) ? paths.filter((item) => typeof item === 'string') : []
  }
  const [created, modified, deleted] = [list('created'), list('modified'), list('deleted')]
  return { created, modified, deleted, outside: list('outside') }
}

function firstRunId(path: string, within: string | undefined): string | undefined {
  try {
    const fd = openPlain(path, fs.constants.O_RDONLY, undefined, within)
    try {
      const id: unknown = JSON.parse(firstLine(fd) ?? '').run_id
      return typeof id === 'string' ? id : undefined
    } finally {
      fs.closeSync(fd)
    }
  } catch {
    return undefined
  }
}

/** A longer first line is not read. */
const MAX_LINE = 64 << 20

function firstLine(fd: number): string | undefined {
  for (let size = BLOCK; ; size *= 4) {
    const head = readBlock(fd, 0, size)
    const end = head.indexOf(LF)
    if (end >= 0) return head.toString('utf8', 0, end)
    if (head.length < size || size >= MAX_LINE) return undefined
  }
}
