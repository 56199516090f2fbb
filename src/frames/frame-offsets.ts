import { Bytes } from '../base/platform.ts'
import type { Places } from '../text/offsets.ts'
import type { Frame } from './frame.ts'

/**
 * The byte offset in its channel of the character at index `units` of a frame's text. Also exact where the
 * text differs from the bytes: a fence without its quote marks and indentation, PTY text without its escape
 * sequences, bytes that are not UTF-8.
 *
 * @example
 * // <json>{"ä":1}</json>
 * frameOffset(frame, 3) // 10: 6 for the opener, 4 for `{"ä`
 */
export function frameOffset(frame: Frame, units: number): number {
  const places = placesOf.get(frame)
  if (places === undefined) return textStart(frame) + bytesBefore(frame.text, units)
  if (typeof places === 'number') return places + bytesBefore(frame.text, units)
  return places.at(units)
}

/**
 * `frameOffset` for many places of one frame, in rising order: each character is counted once. A hundred
 * changes would otherwise count a long text a hundred times.
 */
export function risingOffsets(frame: Frame): (units: number) => number {
  const places = placesOf.get(frame)
  if (typeof places === 'object') return (units) => places.at(units)
  let place = places ?? textStart(frame)
  let counted = 0
  return (units) => {
    if (units < counted) return frameOffset(frame, units)
    const to = isHalf(frame.text, units) ? units - 1 : units
    place += Bytes.byteLength(frame.text.slice(counted, to))
    counted = to
    return place
  }
}

/** Only for the few frames whose text does not map directly, or begins later (a number). */
const placesOf = new WeakMap<Frame, Places | number>()

export function keepOffsets(frame: Frame, places: Places | number): void {
  placesOf.set(frame, places)
}

/** Where the text of an ordinary frame begins: after `<json>`, or after "```json" and an LF. */
export function textStart({ kind, from, label = '' }: Frame): number {
  if (kind === 'tag') return from + label.length + 2
  return kind === 'fence' ? from + 3 + Bytes.byteLength(label) + 1 : from
}

function bytesBefore(text: string, units: number): number {
  return Bytes.byteLength(text.slice(0, isHalf(text, units) ? units - 1 : units))
}

/** Whether `units` is inside a surrogate pair. The second half belongs to the same character. */
function isHalf(text: string, units: number): boolean {
  return (text.charCodeAt(units) & 0xfc00) === 0xdc00 && (text.charCodeAt(units - 1) & 0xfc00) === 0xd800
}
