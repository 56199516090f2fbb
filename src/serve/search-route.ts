import type { Hiding } from './hiding.ts'
import { type Reply, refuse } from './reply.ts'
import type { FoundRun } from './run-finder.ts'
import { searchRun } from './search-runs.ts'
import { drained } from './stream.ts'
import { turn } from './turns.ts'

const MIN_TEXT = 2
const MAX_TEXT = 500
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
  maxStall: number,
): Promise<void> {
  if (text.length < MIN_TEXT || text.length > MAX_TEXT)
    return refuse(response, 400, `q must have ${MIN_TEXT} to ${MAX_TEXT} characters`)
  const left = new AbortController()
  response.once('close', () => left.abort())
  const options = { hiding, signal: AbortSignal.any([signal, left.signal]) }
  const of = runs.length
  response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' })
  // Runs are searched at the pace of the client: what it was not sent yet is not held.
  const tell = async (record: object) => {
    if (!response.write(`${JSON.stringify(record)}\n`)) await drained(response, maxStall, options.signal)
  }
  let [searched, told] = [0, Number.NEGATIVE_INFINITY]
  for (const run of runs) {
    await turn()
    if (options.signal.aborted) break
    if (performance.now() - told >= PROGRESS_MS) {
      told = performance.now()
      await tell({ searched, of })
    }
    // A run that was removed, or is damaged, has nothing to find.
    const hit = await searchRun(run, text, options).catch(() => undefined)
    searched++
    if (hit) await tell({ hit })
  }
  if (response.destroyed) return
  await tell({ searched, of, done: true })
  response.end()
}
