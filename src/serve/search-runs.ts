import fs from 'node:fs'
import { openPlain } from '../disk/plain-file.ts'
import { linesIn, wholeLines } from '../disk/read-journal.ts'
import { type AgentEvent, isPiece } from '../events/event.ts'
import { jsonValue } from '../json/strict.ts'
import { type Outgoing, refuse } from './http-response.ts'
import type { Hiding } from './redact-served.ts'
import type { FoundRun } from './run-finder.ts'
import type { RunHit } from './run-info.ts'
import { readLogs } from './run-overviews.ts'
import type { RunPlace } from './run-place.ts'
import { drained } from './stream.ts'
import { turn } from './turns.ts'

export interface SearchOptions {
  readonly hiding?: Hiding | undefined
  readonly signal?: AbortSignal | undefined
}

/** Bytes of a journal to search at once. */
const BLOCK = 1 << 20

/**
 * Searches what was said and done in a run, line by line: texts of the model and the user, inputs and outputs
 * of tools, files, notes. Case does not matter. With `hiding`, what it hides is not found.
 */
export async function searchRun(
  { info, place }: FoundRun,
  text: string,
  { hiding, signal }: SearchOptions = {},
): Promise<RunHit | undefined> {
  const wanted = text.toLowerCase()
  let hit: RunHit | undefined
  for await (const event of candidates(place, wanted, signal)) {
    if (signal?.aborted) return undefined
    // A message that is complete has all of its pieces.
    if (typeof event.data !== 'object' || event.data === null || isPiece(event)) continue
    const shown = hiding ? hiding.event(event) : event
    const found = textsIn(shown.data).find((part) => part.toLowerCase().includes(wanted))
    if (found === undefined) continue
    hit = hit ? { ...hit, count: hit.count + 1 } : hitOf(info.id, event, found, wanted)
  }
  return hit
}

/** The events that may have the text: of a journal only those whose line has it. */
async function* candidates(
  place: RunPlace,
  wanted: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<AgentEvent> {
  const path = place.journal()
  if (path === undefined || place.isCut()) return yield* readLogs(place, { signal })
  // As it is written in JSON. Another program may escape more than we do.
  const written = JSON.stringify(wanted).slice(1, -1)
  const mayEscape = /[^ -~]|["\\]/.test(wanted)
  // What hides a secret may make a text that is not in the journal, too.
  const anyLine = 'redacted'.includes(wanted) || wanted.includes('redacted')
  const mayHave = (json: string) =>
    anyLine || json.toLowerCase().includes(written) || (mayEscape && json.includes('\\u'))
  const fd = openPlain(path, fs.constants.O_RDONLY, undefined, place.within)
  try {
    for (let at = 0; !signal?.aborted; ) {
      await turn()
      const lines = wholeLines(fd, at, BLOCK)
      if (typeof lines !== 'object') return
      at = lines.next
      if (!mayHave(lines.bytes.toString())) continue
      for (const { bytes } of linesIn(lines)) {
        const json = bytes.toString()
        // Cast: another program may have written it; its reader checks each field.
        const event = mayHave(json) ? (jsonValue(json) as AgentEvent | undefined) : undefined
        if (typeof event?.type === 'string') yield event
      }
    }
  } finally {
    fs.closeSync(fd)
  }
}

/** Texts of one event to look at, and how deep they may be. */
const MAX_TEXTS = 10_000
const MAX_DEPTH = 20

/** The texts in the data of an event, its names left out. */
function textsIn(data: unknown): string[] {
  const found: string[] = []
  const look = (value: unknown, depth: number) => {
    if (found.length >= MAX_TEXTS || depth > MAX_DEPTH) return
    if (typeof value === 'string') found.push(value)
    else if (typeof value === 'object' && value !== null)
      for (const one of Object.values(value)) look(one, depth + 1)
  }
  look(data, 0)
  return found
}

/** Characters to show around the text. */
const AROUND = 60

function hitOf(id: string, event: AgentEvent, text: string, wanted: string): RunHit {
  const { type, ts, attempt_number, seq } = event
  const at = text.toLowerCase().indexOf(wanted)
  const end = at + wanted.length
  const line = (part: string) => part.replace(/\s/g, ' ')
  return {
    ...{ id, event: `${attempt_number}.${seq}`, type, ts, count: 1 },
    before: line(text.slice(Math.max(0, at - AROUND), at)),
    match: line(text.slice(at, end)),
    after: line(text.slice(end, end + 2 * AROUND)),
  }
}

const MIN_TEXT = 2
const MAX_TEXT = 500
const PROGRESS_MS = 200

/**
 * Searches the runs, the newest first, and sends NDJSON while it reads: `{hit}` for each run that has the
 * text, `{searched, of}` now and then, and `{searched, of, done: true}` at the end. It ends when the client
 * leaves.
 */
export async function sendSearch(
  response: Outgoing,
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
