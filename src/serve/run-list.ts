import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { isPicked, type RunFilter } from './run-filter.ts'
import { type FoundRun, type GoneRun, RunFinder } from './run-finder.ts'
import { compareRuns, type RunInfo } from './run-info.ts'
import { logOverviews } from './run-overviews.ts'
import type { RunPlace } from './run-place.ts'
import { turn } from './turns.ts'

/** How long a list is reused: many clients ask at once. */
const LIST_MS = 500
/** How many removed runs to remember for clients that ask what has changed: as many as a list can have. */
const MAX_GONE = 20_000
/** The longest wait before a look for a run that is not known. */
const MAX_REST_MS = 2000

interface Listed {
  info: RunInfo
  place: RunPlace
  /** Its info as JSON, as it is sent. */
  text: string
  /** The version of the list that brought it. */
  version: number
}

/** Where a list gets its runs from. */
export interface RunSource {
  /** Steps over all runs at first, then over those that may have changed. */
  look(): Iterable<FoundRun | GoneRun | undefined>
  /** The JSON of a run, as it is sent. */
  textOf(info: RunInfo): string
}

/**
 * The runs of the server, read in the background in short slices and kept. Each change makes a new version;
 * a client that has one asks for what changed since.
 */
export class RunList {
  readonly #source: RunSource
  readonly #signal: AbortSignal
  /** Versions of another server are not ours. */
  readonly #epoch = Date.now().toString(36)
  #version = 0
  readonly #known = new Map<string, Listed>()
  /** Those known, in order unless some of them changed. */
  #order: Listed[] = []
  #sorted = true
  #dropped = false
  readonly #gone: { readonly id: string; readonly version: number }[] = []
  /** Removals before this version are forgotten. */
  #forgotten = 0
  #reading: Promise<void> | undefined
  #complete = false
  #lookedAt = Number.NEGATIVE_INFINITY
  /** How long the last look took. */
  #lookMs = 0
  /** A look that has not begun yet, for those that ask for a run that is not known. */
  #seeking: Promise<void> | undefined

  constructor(source: RunSource, signal: AbortSignal) {
    this.#source = source
    this.#signal = signal
  }

  get version(): string {
    return `${this.#epoch}-${this.#version}`
  }

  /** Reads what has changed, unless that was done a moment ago, or `again`. */
  async fresh(again = false): Promise<void> {
    if (again) await this.#reading
    if (performance.now() - this.#lookedAt < LIST_MS && !again) return
    this.#reading ??= this.#look().finally(() => {
      this.#reading = undefined
    })
    await this.#reading
  }

  /**
   * Reads what has changed since this call, for a run that is not known. It waits long enough that such looks
   * take at most a fifth of the time: anybody can ask for runs that are not there.
   */
  async seek(): Promise<void> {
    await this.#reading
    this.#seeking ??= this.#rest().then(async () => {
      this.#seeking = undefined
      await this.fresh(true)
    })
    await this.#seeking
  }

  async #rest(): Promise<void> {
    const rest = this.#lookedAt + 4 * this.#lookMs - performance.now()
    if (rest > 0) await delay(Math.min(rest, MAX_REST_MS), undefined, { ref: false })
  }

  /** All runs as JSON, in order. */
  all(): string[] {
    return this.#ordered().map(({ text }) => text)
  }

  /** Those that a filter picks, as JSON. What a reader does not see finds nothing. */
  async picked(filter: RunFilter): Promise<string[]> {
    const found: string[] = []
    for (const { text } of this.#ordered()) {
      await turn()
      if (isPicked(JSON.parse(text) as RunInfo, filter)) found.push(text) // cast: our own JSON
    }
    return found
  }

  /** All runs, in order. */
  found(): readonly FoundRun[] {
    return this.#ordered()
  }

  /**
   * Up to `limit` runs as JSON, from the first or after the one with this id, and if there are more, the id
   * to continue after. While the runs are read for the first time, it does not wait for all of them: the
   * newest are read first. Undefined if there is no run with this id.
   */
  async page(limit: number, after: string | undefined) {
    const reading = this.fresh()
    if (this.#complete) await reading
    const wanted = this.#indexAfter(after) + limit
    // A failure is thrown by the wait for all of them.
    reading.catch(() => {})
    while (!this.#complete && this.#reading && this.#known.size < wanted) await setImmediate()
    if (!this.#reading) await reading
    const from = this.#indexAfter(after)
    if (from < 0) return undefined
    const order = this.#ordered()
    const shown = order.slice(from, from + limit)
    const more = !this.#complete || from + limit < order.length
    return { runs: shown.map(({ text }) => text), next: more ? (shown.at(-1)?.info.id ?? after) : undefined }
  }

  /** What has changed since a version; undefined if that is not known any more. */
  since(version: string) {
    const [epoch, number] = version.split('-')
    const seen = Number(number)
    if (epoch !== this.#epoch || !(seen >= this.#forgotten)) return undefined
    if (seen === this.#version) return { runs: [], gone: [] }
    return {
      runs: this.#ordered().flatMap(({ text, version }) => (version > seen ? [text] : [])),
      gone: this.#gone.flatMap(({ id, version }) => (version > seen ? [id] : [])),
    }
  }

  async #look(): Promise<void> {
    const began = performance.now()
    for (const found of this.#source.look()) {
      if (found && 'gone' in found) this.#drop(found.gone)
      else if (found) this.#take(found)
      await turn()
      if (this.#signal.aborted) return
    }
    // A page of a list that is not complete has another version than the same page of one that is.
    if (!this.#complete) this.#version++
    this.#complete = true
    this.#lookedAt = performance.now()
    this.#lookMs = this.#lookedAt - began
  }

  #take({ info, place }: FoundRun): void {
    const known = this.#known.get(place.key)
    // Runs that are over have the same info as before.
    if (known?.info === info) return
    const text = this.#source.textOf(info)
    if (known?.text === text) {
      Object.assign(known, { info, place })
      return
    }
    const listed = { info, place, text, version: ++this.#version }
    if (known) Object.assign(known, listed)
    else {
      this.#known.set(place.key, listed)
      this.#order.push(listed)
    }
    this.#sorted = false
  }

  #drop(key: string): void {
    const known = this.#known.get(key)
    if (!known) return
    this.#known.delete(key)
    this.#dropped = true
    this.#gone.push({ id: known.info.id, version: ++this.#version })
    if (this.#gone.length > MAX_GONE) this.#forgotten = this.#gone.shift()!.version
  }

  #ordered(): readonly Listed[] {
    if (this.#dropped) this.#order = [...this.#known.values()]
    if (!this.#sorted) this.#order.sort((a, b) => compareRuns(a.info, b.info))
    this.#sorted = true
    this.#dropped = false
    return this.#order
  }

  /** Negative if there is no such run. */
  #indexAfter(id: string | undefined): number {
    if (id === undefined) return 0
    return this.#ordered().findIndex(({ info }) => info.id === id) + 1 || -1
  }
}

/** How long logs without a journal are read for a list. */
const LOGS_MS = 1000

/**
 * The runs under a directory, as `/runs` of a server lists them: those in progress, and the newest `max` (as
 * many as a server lists); and the number of older folders, which are not read.
 */
export async function recordedRuns(
  root: string,
  max?: number,
): Promise<{ readonly found: readonly FoundRun[]; readonly older: number }> {
  const left = new AbortController()
  const logs = logOverviews(left.signal)
  const finder = new RunFinder(root, logs, max)
  const list = new RunList({ look: () => finder.look(), textOf: (info) => JSON.stringify(info) }, left.signal)
  try {
    await list.fresh()
    if (list.found().some(({ info: { state } }) => state === 'unread')) {
      await logs.settled(LOGS_MS, 0)
      await list.fresh(true)
    }
  } finally {
    left.abort()
  }
  return { found: list.found(), older: finder.older }
}
