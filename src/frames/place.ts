import { characterLength } from './decode.ts'
import type { Frame } from './frame.ts'

/**
 * The byte offset in its channel of the character at index `units` of a frame's text. Exact also where the text is
 * not the bytes one by one: a fence without its quote marks and indentation, PTY text without its escape sequences,
 * bytes that are not UTF-8.
 *
 * @example
 * // <json>{"ä":1}</json>
 * placeOf(frame, 3) // 10: 6 for the opener, 4 for `{"ä`
 */
export function placeOf(frame: Frame, units: number): number {
  const places = placesOf.get(frame)
  if (places === undefined) return textStart(frame) + bytesBefore(frame.text, units)
  if (typeof places === 'number') return places + bytesBefore(frame.text, units)
  const { runs, bytes } = places
  const byte = bytes ? bytesOfUnits(bytes, units) : bytesBefore(frame.text, units)
  let low = 0
  let high = runs.length / 2
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (runs[2 * middle]! <= byte) low = middle
    else high = middle
  }
  return runs[2 * low + 1]! + byte - runs[2 * low]!
}

/** Where the text of a frame began, and where it goes on after something was left out. */
export interface Places {
  /** Pairs: a byte of the text, and its offset in the channel; the bytes up to the next pair follow it. */
  readonly runs: readonly number[]
  /** The bytes of the text, if they are not UTF-8. */
  readonly bytes: Uint8Array | undefined
}

/** Kept only for the few frames that do not say it themselves; a number where the text is whole but begins later. */
const placesOf = new WeakMap<Frame, Places | number>()

export function keepPlaces(frame: Frame, places: Places | number): void {
  placesOf.set(frame, places)
}

/** Lets `placeOf` answer for a copy of a frame with the same text. */
export function copyPlaces(frame: Frame, copy: Frame): void {
  const places = placesOf.get(frame)
  if (places !== undefined) placesOf.set(copy, places)
}

/** Where the text of a frame begins if it is written as nearly all are: behind `<json>`, or behind "```json" and an LF. */
export function textStart({ kind, from, label = '' }: Frame): number {
  if (kind === 'tag') return from + label.length + 2
  return kind === 'fence' ? from + 3 + Buffer.byteLength(label) + 1 : from
}

function bytesBefore(text: string, units: number): number {
  // Half a pair belongs to the character that it is half of.
  const low = text.charCodeAt(units) & 0xfc00
  const high = text.charCodeAt(units - 1) & 0xfc00
  return Buffer.byteLength(text.slice(0, low === 0xdc00 && high === 0xd800 ? units - 1 : units))
}

/** How many bytes the first so many units were decoded from. */
function bytesOfUnits(bytes: Uint8Array, units: number): number {
  let at = 0
  for (let seen = 0; at < bytes.length; ) {
    const length = characterLength(bytes, at)
    // Only what takes four bytes is a pair of units.
    seen += length === 4 ? 2 : 1
    if (seen > units) break
    at += length
  }
  return at
}
