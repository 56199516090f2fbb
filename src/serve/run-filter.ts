import type { RunInfo } from './run-info.ts'
import { isFound, stateOf, tagsOf } from './run-words.ts'

// Which runs are picked from a list: the same on the page and in `sluice ls`.

/** What runs are picked by. What is missing or empty picks all. */
export interface RunFilter {
  /** Words that are all in its task, name, command, outcome or problem. */
  readonly find?: string | undefined
  /** Outcomes, with commas between them. */
  readonly outcome?: string | undefined
  readonly engine?: string | undefined
  readonly model?: string | undefined
  /** Tags that it all has, each as `name=text`. */
  readonly tag?: string | readonly string[] | undefined
  /** Why it failed, in one word. */
  readonly class?: string | undefined
  /** Days, as `2026-11-19`, in the reader's time zone; both are included. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** The least it cost, whatever the currency. */
  readonly cost?: string | undefined
}

/** The filter that an address asks for; undefined if it asks for none. */
export function filterIn(query: URLSearchParams): RunFilter | undefined {
  const names = FILTERS.filter((name) => query.has(name))
  if (names.length === 0 && !query.has('tag')) return undefined
  return { ...Object.fromEntries(names.map((name) => [name, query.get(name)!])), tag: query.getAll('tag') }
}

const FILTERS = ['find', 'outcome', 'engine', 'model', 'class', 'from', 'to', 'cost'] as const

export function isPicked(run: RunInfo, filter: RunFilter): boolean {
  const day = dayOf(run)
  return (
    (!filter.engine || run.engine === filter.engine) &&
    (!filter.model || run.model === filter.model) &&
    [filter.tag ?? []].flat().every((tag) => tag === '' || tagsOf(run).includes(tag)) &&
    (!filter.class || run.failure_class === filter.class) &&
    (!filter.from || day >= filter.from) &&
    // A run without a time is of no day.
    (!filter.to || (day !== '' && day <= filter.to)) &&
    (!filter.cost || (run.cost?.amount ?? -1) >= Number(filter.cost)) &&
    (!filter.outcome || filter.outcome.split(',').includes(stateOf(run))) &&
    isFound(run, filter.find?.trim() ?? '')
  )
}

/** The day it began, in the reader's time zone; of a session, the last one. Empty if it is not known. */
export function dayOf({ started_at, session }: RunInfo): string {
  const time = session?.updated_at ?? started_at
  if (time === null) return ''
  const date = new Date(time)
  const two = (count: number) => String(count).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}
