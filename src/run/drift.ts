import fs from 'node:fs'
import { join } from 'node:path'
import { clip, Fault, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { EVENTS_FILE } from '../disk/journal.ts'
import { beginsWith } from '../disk/plain-file.ts'
import { auto } from '../engines/auto.ts'
import { engineNamed } from '../engines/engine-name.ts'
import type { Engine, Picker } from '../events/engine.ts'
import { type AgentEvent, type DiagnosticData, isEvent } from '../events/event.ts'
import { type Attempt, listAttempts, singleLog } from './attempt-logs.ts'
import { readJson, readMeta } from './meta.ts'
import { isDatabase } from './opencode-db.ts'
import { replay } from './replay.ts'
import { type Folder, fixedDir, folders } from './run-directory.ts'
import { withReaders } from './watch-turns.ts'

export interface DriftOptions {
  /**
   * Reads every run with this engine.
   * @default the one in the meta of a run, if it knows its records; else found by their shape
   */
  readonly engine?: Engine | Picker | undefined
  /** Called before each run is read, with the number of runs read so far, and its path. @default none */
  readonly progress?: ((runs: number, path: string) => void) | undefined
}

/**
 * Reads recorded runs again and adds up what the engines of this version do not know in them: unknown types
 * and fields, by engine and version, each with the first place. The numbers come from the events
 * (`UNKNOWN_TYPE`, `UNKNOWN_FIELD`, `DRIFT_REPORT`, `ENGINE_UNKNOWN`).
 */
export async function drift(paths: readonly string[], options: DriftOptions = {}): Promise<DriftReport> {
  const sum = driftReport()
  let runs = 0
  for (const path of paths) {
    for (const found of findLogs(path, sum.unreadable)) {
      options.progress?.(runs, found.path)
      try {
        const run = await readFound(found, options.engine)
        // A text file that was only found may be anything; only as the log of a run it counts.
        if (found.loose && run.engine === 'text' && !run.stranger) continue
        sum.add(run)
        runs++
      } catch (error) {
        // A misused engine fails on every run; a run that cannot be read fails alone.
        if (Fault.is(error) && error.code === 'BAD_OPTION') throw error
        sum.unreadable(found.path, reasonOf(error))
      }
    }
  }
  return sum.report()
}

/** The reason without the path, which is shown next to it. */
function reasonOf(error: unknown): string {
  const cause = Fault.is(error) && error.cause instanceof Error ? codeOf(error.cause) : undefined
  return cause ?? (Fault.is(error) ? error.message : (codeOf(error) ?? String(error)))
}

async function readFound(found: FoundLogs, given: Engine | Picker | undefined): Promise<RunDrift> {
  const meta = readMeta(found.attempt.meta)
  const named = given ?? (meta?.recognised ? auto : engineNamed(meta?.engine)) ?? auto
  const run = await readRun(found, named)
  if (!run.stranger || given || named === auto) return run
  // Another recorder may name the program instead of the protocol it uses.
  const byShape = await readRun(found, auto)
  return byShape.stranger ? run : byShape
}

async function readRun({ path, attempt }: FoundLogs, engine: Engine | Picker) {
  let records = 0
  const counting = countingRecords(engine, () => records++)
  const played = replay(path, { engine: counting, ...(attempt.alone ? {} : { attempt: attempt.number }) })
  const types = new Map<string, { count: number; first: DriftPlace | null }>()
  const fields: typeof types = new Map()
  let version = versionIn(attempt)
  let { name, parser } = engine
  /** No engine knows any of its records. */
  let stranger: (DriftPlace & { readonly message: string }) | undefined

  const driftPlace = ({ raw_ref: ref }: AgentEvent): DriftPlace => ({
    path: (ref && attempt.logs[ref.stream]) ?? path,
    byte: ref?.byte_from ?? null,
  })
  const saw = (event: AgentEvent, { code, message, name: unknown, drift }: DiagnosticData) => {
    if (code === 'ENGINE_UNKNOWN') stranger = { ...driftPlace(event), message }
    const named = code === 'UNKNOWN_TYPE' ? types : code === 'UNKNOWN_FIELD' ? fields : undefined
    if (unknown !== undefined) named?.set(unknown, { count: 1, first: driftPlace(event) })
    for (const [names, counts] of [
      [types, drift?.types],
      [fields, drift?.fields],
    ] as const) {
      for (const [key, count] of Object.entries(counts ?? {}))
        names.set(key, { count, first: names.get(key)?.first ?? null })
    }
  }

  for await (const event of played) {
    name = event.source.engine
    parser = event.source.parser
    version = reportedVersion(event) ?? version
    if (isEvent(event, 'diagnostic.parser.warning')) saw(event, event.data)
  }
  return { engine: name, parser, version, records, types, fields, stranger }
}

/** The version that the engine reports in its own log. */
function reportedVersion(event: AgentEvent): string | undefined {
  if (event.type !== 'lifecycle.run.status') return undefined
  const { engine_version: reported } = event.data as { readonly engine_version?: unknown }
  return typeof reported === 'string' ? plainVersion(reported) : undefined
}

/** The version that the recorder stored next to the logs, under one of the names that recorders use. */
function versionIn({ meta, within }: Attempt): string | undefined {
  const found = readJson(meta, within) ?? {}
  const reported = ['engine_version', 'cli_version', 'version'].map((key) => found[key])
  const text = reported.find((value) => typeof value === 'string')
  return typeof text === 'string' ? plainVersion(text) : undefined
}

const MAX_VERSION = 40

/** `codex-cli 0.166.0` is 0.166.0. */
function plainVersion(reported: string): string | undefined {
  const words = clip(reported, MAX_VERSION).split(' ')
  return (
    words.find((word) => word >= '0' && word < ':') ??
    (reported === '' ? undefined : clip(reported, MAX_VERSION))
  )
}

/** The same engine, with a callback for each record that it reads. */
function countingRecords(engine: Engine | Picker, saw: () => void): Engine | Picker {
  return withReaders(engine, (reader) => ({
    read(frame, say) {
      if (frame.value !== undefined) saw()
      return reader.read(frame, say)
    },
  }))
}

/** A recorded attempt, or a single log, to be read by `replay(path, { attempt })`. */
interface FoundLogs {
  readonly path: string
  readonly attempt: Attempt
  /** A single log that was found, not named by the caller: it may be something else. */
  readonly loose?: true
}

/** Deep enough for every layout seen, and a limit for endless trees. */
const MAX_DEPTH = 32

/**
 * Finds what can be read as runs, in the order of the names: each attempt of a folder with logs; in a folder
 * without logs, its single logs and session files. A path that is a file is one log. `unreadable` is called
 * for what cannot be read, and the search continues.
 */
function* findLogs(path: string, unreadable: (path: string, why: string) => void): Generator<FoundLogs> {
  const failed = (where: string, error: unknown) => unreadable(where, codeOf(error) ?? String(error))
  let stats: fs.Stats
  try {
    stats = fs.statSync(path)
  } catch (error) {
    failed(path, error)
    return
  }
  if (!stats.isDirectory()) {
    if (!stats.isFile()) unreadable(path, 'it is neither a file nor a directory')
    else if (isDatabase(path))
      unreadable(path, `a database; npx agent-sluice chat ${quote(path)} reads a session of it`)
    else yield { path, attempt: singleLog(path) }
    return
  }
  for (const folder of folders(fixedDir(path), { maxDepth: MAX_DEPTH, unreadable: failed })) {
    let attempts: Attempt[]
    try {
      attempts = listAttempts(folder.path)
    } catch (error) {
      failed(folder.path, error)
      continue
    }
    for (const attempt of attempts) yield { path: folder.path, attempt }
    if (attempts.length > 0 || isJournal(folder)) continue
    for (const entry of folder.entries) {
      if (!entry.isFile() || !isLog(entry.name)) continue
      const file = join(folder.path, entry.name)
      yield { path: file, attempt: singleLog(file), loose: true }
    }
  }
}

/** Whether a folder has our own events: the session files of Copilot have the same name. */
function isJournal({ path, entries }: Folder): boolean {
  const file = join(path, EVENTS_FILE)
  return entries.some(({ name }) => name === EVENTS_FILE) && beginsWith(file, '{"protocol_version":"rasp/')
}

/** Logs, and the documents that Gemini and Cline keep as session files. */
function isLog(name: string): boolean {
  if (name.endsWith('.json')) return name.startsWith('session-') || name.endsWith('.messages.json')
  return name.endsWith('.log') || name.endsWith('.jsonl') || name.endsWith('.ndjson')
}

/** A place in a log: the file and the byte, which is null for what is reported only at the end. */
export interface DriftPlace {
  readonly path: string
  readonly byte: number | null
}

/** An unknown type or field of one engine and version. */
export interface DriftName {
  readonly name: string
  /** How often it was seen, and in how many runs. */
  readonly count: number
  readonly runs: number
  /** Null for `…`, which counts the names beyond the limit. */
  readonly first: DriftPlace | null
}

/** What the runs of one engine and version contain that the engine does not know. */
export interface EngineDrift {
  readonly engine: string
  /** The dialect: `codex_ndjson` for stdout, `codex_session` for a session file. */
  readonly parser: string
  /** From the log or the meta of the run, else `unknown`. */
  readonly version: string
  readonly runs: number
  /** Runs that had an unknown type or field. */
  readonly drifted: number
  /** JSON records and documents that the engine read. */
  readonly records: number
  readonly types: readonly DriftName[]
  readonly fields: readonly DriftName[]
}

interface Counted<Place> {
  readonly count: number
  /** The first 20. */
  readonly first: readonly Place[]
}

/** The output of `sluice drift --json`. */
export interface DriftReport {
  readonly runs: number
  readonly records: number
  /** Sorted by name, dialect and version. */
  readonly engines: readonly EngineDrift[]
  /** Runs with records that no engine knows, with the shape of the first record. */
  readonly no_engine: Counted<DriftPlace & { readonly message: string }>
  /** Folders, files and runs that could not be read. */
  readonly unreadable: Counted<{ readonly path: string; readonly reason: string }>
}

/** What one run adds to the report. */
type RunDrift = Awaited<ReturnType<typeof readRun>>

/** Names and versions come from the logs, so their number must be limited; `…` is for the rest. */
const MAX_NAMES = 1000
const MAX_GROUPS = 1000
const MAX_PLACES = 20
const REST = '…'

/** Adds up runs. Its memory does not grow with their number. */
function driftReport() {
  const groups = new Map<string, Group>()
  const strangers = counted<DriftReport['no_engine']['first'][number]>()
  const unreadable = counted<DriftReport['unreadable']['first'][number]>()
  let runs = 0
  let records = 0

  const groupOf = (engine: string, parser: string, version: string): Group => {
    const key = JSON.stringify([engine, parser, version])
    const known = groups.get(key)
    if (known) return known
    if (groups.size >= MAX_GROUPS && version !== REST) return groupOf(engine, parser, REST)
    const counts = { runs: 0, drifted: 0, records: 0, types: new Map(), fields: new Map() }
    const made: Group = { engine, parser, version, ...counts }
    groups.set(key, made)
    return made
  }

  return {
    add(run: RunDrift) {
      runs++
      records += run.records
      if (run.stranger) {
        strangers.add(run.stranger)
        return
      }
      const group = groupOf(run.engine, run.parser, run.version ?? 'unknown')
      group.runs++
      group.records += run.records
      if (run.types.size + run.fields.size > 0) group.drifted++
      addNames(group.types, run.types)
      addNames(group.fields, run.fields)
    },
    unreadable: (path: string, reason: string) => unreadable.add({ path, reason }),
    report: (): DriftReport => ({
      runs,
      records,
      engines: [...groups.values()]
        .sort(
          (a, b) => byText(a.engine, b.engine) || byText(a.parser, b.parser) || byText(a.version, b.version),
        )
        .map((group) => ({ ...group, types: listOf(group.types), fields: listOf(group.fields) })),
      no_engine: strangers.all(),
      unreadable: unreadable.all(),
    }),
  }
}

interface Group {
  readonly engine: string
  readonly parser: string
  readonly version: string
  runs: number
  drifted: number
  records: number
  readonly types: Names
  readonly fields: Names
}

type Names = Map<string, { count: number; runs: number; first: DriftPlace | null }>

function addNames(names: Names, found: RunDrift['types']): void {
  /** Several names of the run may be counted together. */
  const counted = new Set<string>()
  for (const [name, { count, first }] of found) {
    const full = names.size >= MAX_NAMES && !names.has(name)
    const key = full ? REST : name
    const known = names.get(key) ?? { count: 0, runs: 0, first: full ? null : first }
    known.count += count
    if (!counted.has(key)) known.runs++
    counted.add(key)
    names.set(key, known)
  }
}

/** The most frequent first. */
function listOf(names: Names): DriftName[] {
  return [...names]
    .map(([name, found]) => ({ name, ...found }))
    .sort((a, b) => b.count - a.count || byText(a.name, b.name))
}

/** `0.98` before `0.166`. */
function byText(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}

function counted<Place>() {
  let count = 0
  const first: Place[] = []
  return {
    add(place: Place) {
      count++
      if (first.length < MAX_PLACES) first.push(place)
    },
    all: (): Counted<Place> => ({ count, first }),
  }
}
