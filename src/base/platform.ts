import * as buffers from 'node:buffer'
import { Buffer } from 'node:buffer'
import { hash, randomBytes } from 'node:crypto'
import { type KeyedHash, keyedHash } from './wasm.ts'

/** All that the core takes from Node. The build for the Web has `platform-web.ts` instead. */
export { isAscii, isUtf8 } from 'node:buffer'
export { createRequire } from 'node:module'
export { simdSearch } from './wasm.ts'

/** Bytes with the Buffer methods that the core uses: in Node Buffers, else of `platform-web.ts`. */
export interface Bytes extends Uint8Array {
  subarray(from?: number, to?: number): Bytes
  toString(encoding?: 'utf8' | 'latin1', from?: number, to?: number): string
  indexOf(sought: number | Uint8Array, from?: number): number
  lastIndexOf(sought: number | Uint8Array, from?: number): number
  compare(other: Uint8Array, otherFrom?: number, otherTo?: number, from?: number, to?: number): number
  copy(target: Uint8Array, at?: number, from?: number, to?: number): number
}

/** Creates bytes. The names are those of Buffer. */
export interface BytesMaker {
  from(text: string): Bytes
  /** Copies the bytes. */
  from(bytes: ArrayLike<number>): Bytes
  /** Shares the memory. */
  from(memory: ArrayBufferLike, offset: number, length: number): Bytes
  alloc(length: number): Bytes
  /** The memory is not zeroed. */
  allocUnsafe(length: number): Bytes
  /** Own memory, outside the pool, so that a slice keeps nothing else alive. */
  allocUnsafeSlow(length: number): Bytes
  concat(list: readonly Uint8Array[], length?: number): Bytes
  /** Length of the text in UTF-8. */
  byteLength(text: string): number
  isBuffer(value: unknown): value is Bytes
}

/** Own name, because a browser has no Buffer. */
export const Bytes: BytesMaker = Buffer

/**
 * 128 bits to compare records by: a hash keyed per process, or a cryptographic one. Callers need not know
 * which, because no digest leaves the process; the two have different lengths, so they are never confused.
 *
 * @example
 * digest('{"type":"turn.completed"}') === digest('{"type":"turn.started"}') // false
 */
export function digest(text: string | Uint8Array): string {
  if (keyed === undefined) keyed = keyedHash(randomBytes(16)) ?? null
  return keyed?.(text) ?? hash('sha256', text, 'binary').slice(0, 16)
}

let keyed: KeyedHash | null | undefined

/**
 * Decodes bytes that are known to be UTF-8 and not only ASCII. For longer texts there are two ways, and which
 * one is faster depends on the version of Node: on 20 the detour over UTF-16 is up to six times as fast.
 *
 * @example
 * decodeForeign(Bytes.from('…→…'.repeat(1000)))
 */
export function decodeForeign(bytes: Bytes): string {
  detour ??= isDetourFaster()
  return detour ? overUtf16(bytes) : bytes.toString('utf8')
}

let detour: boolean | undefined

function overUtf16(bytes: Uint8Array): string {
  return buffers.transcode(bytes, 'utf8', 'utf16le').toString('utf16le')
}

/** Times both on a typical text: less than a millisecond, once. Not every build of Node has `transcode`. */
function isDetourFaster(): boolean {
  const text = '{"output":"→ plain text, 文字 and more of it"}'.repeat(100)
  const bytes = Bytes.from(text)
  try {
    if (overUtf16(bytes) !== text) return false
  } catch {
    return false
  }
  return leastTime(() => overUtf16(bytes)) < leastTime(() => bytes.toString('utf8'))
}

function leastTime(work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY
  for (let turn = 0; turn < 8; turn++) {
    const started = performance.now()
    work()
    least = Math.min(least, performance.now() - started)
  }
  return least
}
