import type { RawRef } from '../../events/event.ts'
import type { RunInfo } from '../run-info.ts'
import type { Source } from './source.ts'

/** A place of the raw logs that has the text. */
export interface ByteHit {
  readonly ref: RawRef
  readonly before: string
  readonly match: string
  readonly after: string
}

/** How many bytes are requested at once, how many of a log are searched, and how many hits are listed. */
const PIECE = 1 << 20
const MAX_BYTES = 64 << 20
const MAX_BYTE_HITS = 200
/** A shorter text is in nearly every line. */
const MIN_NEEDLE = 3
const AROUND = 60

/**
 * Searches the raw logs of a run, stream by stream, for what is in no event: parts of records that say
 * nothing to a reader, lines that were cut to be shown. ASCII letters are found in both cases. Hits come in
 * pieces, so that the page gets its turn; a log that is longer is searched from its start, up to 64 MiB of
 * it.
 */
export async function* findBytes(
  source: Source,
  { id, streams }: RunInfo,
  typed: string,
): AsyncGenerator<ByteHit[]> {
  if (typed.length < MIN_NEEDLE) return
  const needle = new TextEncoder().encode(typed)
  const fold = needle.length === typed.length ? (text: string) => text.toLowerCase() : (text: string) => text
  const wanted = fold(oneEach(needle))
  for (const { attempt, stream, bytes: size } of streams) {
    let found = 0
    const last = Math.min(size, MAX_BYTES)
    for (let from = 0; from < last && found < MAX_BYTE_HITS; from += PIECE) {
      // A text that crosses the edge is found by the piece that it begins in.
      const to = Math.min(size, from + PIECE + needle.length - 1)
      const got = await source.bytes(id, { attempt, stream, from, to })
      if (!got) return
      const text = fold(oneEach(got.bytes))
      const hits: ByteHit[] = []
      for (let at = text.indexOf(wanted); at >= 0 && found < MAX_BYTE_HITS; found++) {
        hits.push(hitAt(got.bytes, from, { attempt, stream }, at, needle.length))
        at = text.indexOf(wanted, at + needle.length)
      }
      yield hits
    }
  }
}

const latin = new TextDecoder('latin1')

/** One character for each byte, so that places are places. */
function oneEach(bytes: Uint8Array): string {
  return latin.decode(bytes)
}

function hitAt(
  bytes: Uint8Array,
  from: number,
  { attempt, stream }: { attempt: number; stream: string },
  at: number,
  length: number,
): ByteHit {
  const end = at + length
  const text = (first: number, last: number) =>
    new TextDecoder().decode(bytes.subarray(Math.max(0, first), last)).replaceAll('\n', ' ')
  const line = bytes.lastIndexOf(10, at - 1) + 1
  const ref = {
    attempt_number: attempt,
    stream,
    byte_from: from + at,
    byte_to: from + end,
    encoding: 'utf-8',
  }
  return {
    // The door: the list of streams has no other names.
    ref: ref as RawRef,
    before: text(at === 0 ? 0 : Math.max(line, at - AROUND / 2), at),
    match: text(at, end),
    after: text(end, end + AROUND * 2),
  }
}
