import type { Hiding } from './hiding.ts'
import { type Reply, refuse } from './reply.ts'
import type { FoundRun } from './run-finder.ts'
import { searchRun } from './search-runs.ts'
import { turn } from './turns.ts'

const MIN_TEXT = 2
const MAX_TEXT = 500
/** Runs to tell; a text that more have is too common to be looked for. */
const MAX_FOUND = 1000
const PROGRESS_MS = 200

/**
 * Searches the runs, the newest first, and sends NDJSON while it reads: `{hit}` for each run that has the
 * text, `{searched, of}` now and then, and `{searched, of, done: true}` at the end. It ends when the client
 * leaves.
 */
export async function sendSearch(
  response: Reply,
  text: string,
  runs: readonly FoundRun[],
  hiding: Hiding | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (text.length < MIN_TEXT || text.length > MAX_TEXT)
    return refuse(response, 400, `q must have ${MIN_TEXT} to ${MAX_TEXT} characters`)
  const left = new AbortController()
  response.once('close', () => left.abort())
  const options = { hiding, signal: AbortSignal.any([signal, left.signal]) }
  const of = runs.length
  response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' })
  const tell = (record: object) => response.write(`${JSON.stringify(record)}\n`)
  let [searched, found, told] = [0, 0, Number.NEGATIVE_INFINITY]
  for (const run of runs) {
    await turn()
    if (options.signal.aborted || found >= MAX_FOUND) break
    if (performance.now() - told >= PROGRESS_MS) {
      told = performance.now()
      tell({ searched, of })
    }
    // A run that was removed, or is damaged, has nothing to find.
    const hit = await searchRun(run, text, options).catch(() => undefined)
    searched++
    if (hit) {
      found++
      tell({ hit })
    }
  }
  if (response.destroyed) return
  tell({ searched, of, done: true })
  response.end()
}
