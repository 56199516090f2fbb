import { clip, Fault } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { auto } from '../engines/auto.ts'
import { engines } from '../engines/engines-by-name.ts'
import { type DiagnosticData, type Event, isEvent } from '../events/event.ts'
import type { Limits, Picker, Profile, Reader } from '../events/profile.ts'
import type { Attempt } from './audit.ts'
import { type DriftPlace, type DriftReport, driftReport, type RunDrift } from './drift-report.ts'
import { type FoundLogs, findLogs } from './find-logs.ts'
import { readJson, readMeta } from './meta.ts'
import { replay } from './replay.ts'

export interface DriftOptions {
  /** Reads every run. @default the one that the meta of a run names, if it knows its records; else found by their shape */
  readonly engine?: Profile | Picker | undefined
  /** Is told of each run before it is read: how many were read before, and where it is. @default none */
  readonly progress?: ((runs: number, path: string) => void) | undefined
}

/**
 * Reads recorded runs again and adds up what the engines of this version do not know in them: unknown types and fields, by
 * engine and version, each with the first place. It is what the events themselves tell (`UNKNOWN_TYPE`, `UNKNOWN_FIELD`,
 * `DRIFT_REPORT`, `ENGINE_UNKNOWN`).
 *
 * @example
 * const { engines } = await drift(['.audit'])
 */
export async function drift(paths: readonly string[], options: DriftOptions = {}): Promise<DriftReport> {
  const sum = driftReport()
  let runs = 0
  for (const path of paths) {
    for (const found of findLogs(path, sum.unreadable)) {
      options.progress?.(runs, found.path)
      try {
        const run = await readFound(found, options.engine)
        // A text that lies somewhere may be anything; as the log of a run it would be one.
        if (found.loose && run.engine === 'text' && !run.stranger) continue
        sum.add(run)
        runs++
      } catch (error) {
        // An engine that is misused fails on every run; a run that cannot be read, alone.
        if (Fault.is(error) && error.code === 'BAD_OPTION') throw error
        sum.unreadable(found.path, reasonOf(error))
      }
    }
  }
  return sum.report()
}

/** Without the path where a Fault names it, for that is told beside it. */
function reasonOf(error: unknown): string {
  const cause = Fault.is(error) && error.cause instanceof Error ? codeOf(error.cause) : undefined
  return cause ?? (Fault.is(error) ? error.message : (codeOf(error) ?? String(error)))
}

async function readFound(found: FoundLogs, given: Profile | Picker | undefined): Promise<RunDrift> {
  const named = given ?? engineOf(found.attempt)
  const run = await readRun(found, named)
  if (!run.stranger || given || named === auto) return run
  // Another recorder may name the program where we name the protocol it speaks.
  const byShape = await readRun(found, auto)
  return byShape.stranger ? run : byShape
}

function engineOf({ meta }: Attempt): Profile | Picker {
  const name = readMeta(meta)?.engine
  return name !== undefined && Object.hasOwn(engines, name) ? engines[name as keyof typeof engines] : auto
}

async function readRun({ path, attempt }: FoundLogs, engine: Profile | Picker): Promise<RunDrift> {
  let records = 0
  const counting = countingRecords(engine, () => records++)
  const played = replay(path, { engine: counting, ...(attempt.alone ? {} : { attempt: attempt.number }) })
  const types = new Map<string, { count: number; first: DriftPlace | null }>()
  const fields: typeof types = new Map()
  let version = versionIn(attempt)
  let { name, parser } = engine
  let stranger: RunDrift['stranger']

  const placeOf = ({ raw_ref: ref }: Event): DriftPlace => ({
    path: (ref && attempt.logs[ref.stream]) ?? path,
    byte: ref?.byte_from ?? null,
  })
  const saw = (event: Event, { code, message, name: unknown, drift }: DiagnosticData) => {
    if (code === 'ENGINE_UNKNOWN') stranger = { ...placeOf(event), message }
    if (unknown !== undefined && code === 'UNKNOWN_TYPE')
      types.set(unknown, { count: 1, first: placeOf(event) })
    if (unknown !== undefined && code === 'UNKNOWN_FIELD')
      fields.set(unknown, { count: 1, first: placeOf(event) })
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
    version = toldVersion(event) ?? version
    if (isEvent(event, 'diagnostic.parser.warning')) saw(event, event.data)
  }
  return { engine: name, parser, version, records, types, fields, stranger }
}

/** The version that the engine tells in its own log. */
function toldVersion(event: Event): string | undefined {
  if (event.type !== 'lifecycle.run.status') return undefined
  const { engine_version: told } = event.data as { readonly engine_version?: unknown }
  return typeof told === 'string' ? plainVersion(told) : undefined
}

/** What the recorder wrote down beside the logs, under one of the names that recorders use. */
function versionIn({ meta, within }: Attempt): string | undefined {
  const found = readJson(meta, within) ?? {}
  const told = ['engine_version', 'cli_version', 'version'].map((key) => found[key])
  const text = told.find((value) => typeof value === 'string')
  return typeof text === 'string' ? plainVersion(text) : undefined
}

const MAX_VERSION = 40

/** `codex-cli 0.166.0` is 0.166.0. */
function plainVersion(told: string): string | undefined {
  const words = clip(told, MAX_VERSION).split(' ')
  return (
    words.find((word) => word >= '0' && word < ':') ?? (told === '' ? undefined : clip(told, MAX_VERSION))
  )
}

/** The same engine; each record that it is shown is counted. */
function countingRecords(engine: Profile | Picker, saw: () => void): Profile | Picker {
  const counted = (profile: Profile): Profile => ({
    ...profile,
    open(limits: Limits): Reader {
      const reader = profile.open(limits)
      // What is no reader is refused behind us.
      if (typeof reader?.read !== 'function') return reader
      return {
        read(frame, say) {
          if (frame.value !== undefined) saw()
          return reader.read(frame, say)
        },
        end: (say) => reader.end?.(say),
      }
    },
  })
  if (!('pick' in engine)) return counted(engine)
  const picked = (profile: Profile | undefined) => (profile?.open ? counted(profile) : profile)
  return {
    ...engine,
    pick: (frame) => picked(engine.pick(frame)),
    guess: (frame) => picked(engine.guess?.(frame)),
    fallback: counted(engine.fallback),
  }
}
