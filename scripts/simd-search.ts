// Assembles the search of src/base/wasm.ts: npx tsx scripts/simd-search.ts prints it in base64. A test
// compares the two.

import { constant, get, I32, moduleOf, set, tee, V128 } from './wasm.ts'

// Parameters of `next`, then its locals.
const [FROM, END, BYTE1, AT2, BYTE2, AT3, BYTE3, ESCAPE_AT, ESCAPE_BYTE] = [0, 1, 2, 3, 4, 5, 6, 7, 8]
const [FIRST, SECOND, THIRD, BACKSLASH, ESCAPE, ESC, HERE, HITS] = [9, 10, 11, 12, 13, 14, 15, 16]

const ADD = [0x6a]
const AND = [0xfd, 0x4e]
const OR = [0xfd, 0x50]
const SPLAT = [0xfd, 0x0f]
const EQUAL = [0xfd, 0x23]
const BITMASK = [0xfd, 0x64]
const LOAD = [0xfd, 0x00, 0, 0]
const leaveAtEnd = (blocks: number) => [...get(END), 0x4e, 0x0d, blocks]
const equalAt = (distance: number, byte: number) => [
  ...[...get(FROM), ...get(distance), ...ADD, ...LOAD],
  ...[...get(byte), ...EQUAL],
]

/**
 * `next(from, end, …)`: the first position in `[from, end)` of the memory of a byte with two others after it,
 * or a backslash with a byte after it, or an ESC; -1 if there is none. It checks 16 positions at a time, so
 * it reads up to 15 bytes further.
 */
const next = [
  ...[...get(BYTE1), ...SPLAT, ...set(FIRST), ...get(BYTE2), ...SPLAT, ...set(SECOND)],
  ...[...get(BYTE3), ...SPLAT, ...set(THIRD), ...get(ESCAPE_BYTE), ...SPLAT, ...set(ESCAPE)],
  ...[...constant(0x5c), ...SPLAT, ...set(BACKSLASH), ...constant(0x1b), ...SPLAT, ...set(ESC)],
  // block, loop
  ...[0x02, 0x40, 0x03, 0x40],
  ...[...get(FROM), ...leaveAtEnd(1)],
  ...[...get(FROM), ...LOAD, ...tee(HERE), ...get(FIRST), ...EQUAL],
  ...[...equalAt(AT2, SECOND), ...AND, ...equalAt(AT3, THIRD), ...AND],
  ...[...get(HERE), ...get(BACKSLASH), ...EQUAL, ...equalAt(ESCAPE_AT, ESCAPE), ...AND, ...OR],
  ...[...get(HERE), ...get(ESC), ...EQUAL, ...OR],
  ...[...BITMASK, ...tee(HITS)],
  // if: the lowest bit is the first place
  ...[0x04, 0x40],
  ...[...get(FROM), ...get(HITS), 0x68, ...ADD, ...tee(FROM), ...leaveAtEnd(2), ...get(FROM), 0x0f],
  0x0b,
  ...[...get(FROM), ...constant(16), ...ADD, ...set(FROM), 0x0c, 0],
  ...[0x0b, 0x0b],
  ...constant(-1),
]

/** The module. Three pages: 128 KiB to search, and what is read after them. */
export function simdModule(): Uint8Array {
  const locals = [
    [7, V128],
    [1, I32],
  ] as const
  return moduleOf({ name: 'next', takes: Array(9).fill(I32), answers: [I32], locals, code: next }, 3)
}

if (import.meta.url === `file://${process.argv[1]}`) console.log(Buffer.from(simdModule()).toString('base64'))
