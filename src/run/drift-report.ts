/**
 * A place in a log: the file and the byte. The byte is null if the engine reports something only at the end.
 */
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

/** A count, and the first places. */
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
export interface RunDrift {
  readonly engine: string
  readonly parser: string
  readonly version: string | undefined
  readonly records: number
  readonly types: ReadonlyMap<string, { readonly count: number; readonly first: DriftPlace | null }>
  readonly fields: RunDrift['types']
  /** No engine knows any of its records. */
  readonly stranger?: (DriftPlace & { readonly message: string }) | undefined
}

/** Names and versions come from the logs, so their number must be limited; `…` is for the rest. */
const MAX_NAMES = 1000
const MAX_GROUPS = 1000
const MAX_PLACES = 20
const REST = '…'

/** Adds up runs. Its memory does not grow with their number. */
export function driftReport() {
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
