import type { Channel } from '../../src/text/chunk.ts'

/**
 * The slow half of escape removal: what is left of a whole channel when its escape sequences are gone,
 * and where each byte that is left came from.
 */
export interface Clean {
  readonly bytes: Buffer
  /** `origin[i]` is where `bytes[i]` stood in the original. */
  readonly origin: readonly number[]
}

const LF = 0x0a
const BEL = 0x07
const ESC = 0x1b
const C1 = 0xc2
const MAX_SEQUENCE = 4096

export function clean(original: Buffer, channel: Channel): Clean {
  const kept: number[] = []
  const origin: number[] = []
  let at = 0
  while (at < original.length) {
    const past = passEscape(original, at, channel === 'pty')
    if (past > at) {
      at = past
      continue
    }
    kept.push(original[at]!)
    origin.push(at)
    at++
  }
  return { bytes: Buffer.from(kept), origin }
}

/**
 * One past what has to go at `at`, or `at` if that byte stays. C1 controls are sequences on a terminal only.
 */
function passEscape(bytes: Buffer, at: number, terminal: boolean): number {
  const second = bytes[at + 1]
  if (bytes[at] === ESC) return second === undefined ? at + 1 : passSequence(bytes, at, second, terminal)
  if (terminal && bytes[at] === C1) {
    if (second === 0x9b) return passCsi(bytes, at)
    if ([0x90, 0x98, 0x9d, 0x9e, 0x9f].includes(second ?? 0)) return passString(bytes, at, terminal)
  }
  return at
}

//  ESC [ 3 1 m     ESC ] 0 ; t i t l e BEL     ESC ( B     ESC 7
function passSequence(bytes: Buffer, esc: number, second: number, terminal: boolean): number {
  const char = String.fromCharCode(second)
  if (char === '[') return passCsi(bytes, esc)
  if (']PX^_'.includes(char)) return passString(bytes, esc, terminal)
  let at = esc + 1
  while (isBetween(bytes[at], 0x20, 0x2f) && at < esc + MAX_SEQUENCE) at++
  // A byte that does not fit is looked at anew.
  return isBetween(bytes[at], 0x30, 0x7e) && at < esc + MAX_SEQUENCE ? at + 1 : at
}

/** Both openers have two bytes, and the whole sequence has at most MAX_SEQUENCE. */
function passCsi(bytes: Buffer, from: number): number {
  let at = from + 2
  while (isBetween(bytes[at], 0x20, 0x3f) && at < from + MAX_SEQUENCE) at++
  return isBetween(bytes[at], 0x40, 0x7e) && at < from + MAX_SEQUENCE ? at + 1 : at
}

function passString(bytes: Buffer, from: number, terminal: boolean): number {
  let at = from + 2
  while (at < bytes.length && at < from + MAX_SEQUENCE) {
    if (bytes[at] === BEL) return at + 1
    if (bytes[at] === LF) return at
    if (terminal && bytes[at] === C1 && bytes[at + 1] === 0x9c) return at + 2
    if (bytes[at] === ESC) return bytes[at + 1] === 0x5c ? at + 2 : at
    at++
  }
  return at
}

function isBetween(byte: number | undefined, low: number, high: number): boolean {
  return byte !== undefined && byte >= low && byte <= high
}
