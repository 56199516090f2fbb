import type { RunInfo } from '../run-info.ts'
import { compareRuns } from '../run-order.ts'
import type { Source } from './source.ts'

/** Runs in the first page of the list, which are more than a screen shows, and in the others. */
const FIRST = 100
const OTHERS = 2000

/**
 * Keeps the list of a server: reads it page by page, the newest first, and then only what has changed. While
 * a call reads, others do nothing.
 */
export function runLister(): Source['runs'] {
  let known = new Map<string, RunInfo>()
  /** The version of the first page; what changed since is in the answer to the first question for changes. */
  let version: string | undefined
  /** Where the next page begins; undefined if all were read. */
  let after: string | undefined
  let reading = false

  /** The next page, or what has changed. False if nothing has, or it is not available now. */
  const step = async (): Promise<boolean> => {
    const isPage = version === undefined || after !== undefined
    const place = after === undefined ? '' : `&after=${encodeURIComponent(after)}`
    const query = isPage ? `limit=${after === undefined ? FIRST : OTHERS}${place}` : `since=${version}`
    const headers = isPage ? {} : { 'if-none-match': `"${version}"` }
    const response = await fetch(`runs?${query}`, { headers })
    // The session ended: the server shows its login page.
    if (response.status === 401) location.reload()
    if (response.status === 410) {
      // The server was started again, or forgot what is gone.
      known = new Map()
      version = after = undefined
      return await step()
    }
    if (!response.ok) return false
    const tag = response.headers.get('etag')?.slice(1, -1)
    // Casts: the server is ours, and its responses have these shapes.
    if (isPage) {
      const runs = (await response.json()) as RunInfo[]
      for (const run of runs) known.set(run.id, run)
      version ??= tag
      after = response.headers.has('link') ? (runs.at(-1)?.id ?? after) : undefined
    } else {
      const { runs, gone } = (await response.json()) as { runs: RunInfo[]; gone: string[] }
      for (const id of gone) known.delete(id)
      for (const run of runs) known.set(run.id, run)
      version = tag
    }
    return true
  }
  /** The run in the address, which may be far down in the list. */
  const readOne = async (id: string): Promise<void> => {
    const response = await fetch(pathOf(id))
    if (response.ok) known.set(id, (await response.json()) as RunInfo) // cast: the server is ours
  }
  /** The other pages, and what the server found before them meanwhile. */
  const readOthers = async (take: (runs: readonly RunInfo[]) => void): Promise<void> => {
    for (let more = after !== undefined; more; ) {
      more = after !== undefined
      if (!(await step())) return
      take(inOrder())
    }
  }
  const inOrder = () => [...known.values()].sort(compareRuns)

  return async (take, wanted) => {
    if (reading) return true
    reading = true
    try {
      const one = version === undefined && wanted !== undefined ? readOne(wanted) : undefined
      const [changed] = await Promise.all([step(), one])
      if (changed) take(inOrder())
      readOthers(take)
        .catch(() => {})
        .finally(() => {
          reading = false
        })
      return true
    } catch {
      // The server cannot be reached now.
      reading = false
      return false
    }
  }
}

/** The address of a run on the server. */
export function pathOf(id: string): string {
  return `runs/${encodeURIComponent(id)}`
}
