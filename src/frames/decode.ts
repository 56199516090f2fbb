import { isUtf8 } from 'node:buffer'

/** Decodes one whole frame; never a chunk, whose ends may split a character. */
export function decode(bytes: Buffer, from: number, to: number): string {
  return bytes.toString('utf8', from, to)
}

/**
 * Where the first byte stands that is not UTF-8, or -1. `text` is what the range was decoded to: only where a
 * replacement character came out is there anything to look for.
 */
export function firstInvalid(text: string, bytes: Buffer, from: number, to: number): number {
  if (!text.includes('\ufffd') || isUtf8(bytes.subarray(from, to))) return -1
  let at = from
  while (at < to) {
    const length = characterLength(bytes, at, to)
    if (length === 0) return at
    at += length
  }
  return -1
}

/** The length of the well-formed character at `at`, or 0. */
function characterLength(bytes: Buffer, at: number, to: number): number {
  const lead = bytes[at] ?? 0
  const length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 4
  if (length === 1) return 1
  return at + length <= to && isUtf8(bytes.subarray(at, at + length)) ? length : 0
}
