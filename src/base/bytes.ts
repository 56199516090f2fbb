/**
 * Bytes with the methods of a Node Buffer that the core uses. In Node they are Buffers; elsewhere `platform-web.ts` makes
 * them.
 */
export interface Bytes extends Uint8Array {
  subarray(from?: number, to?: number): Bytes
  toString(encoding?: 'utf8' | 'latin1', from?: number, to?: number): string
  indexOf(sought: number | Uint8Array, from?: number): number
  lastIndexOf(sought: number | Uint8Array, from?: number): number
  compare(other: Uint8Array, otherFrom?: number, otherTo?: number, from?: number, to?: number): number
  copy(target: Uint8Array, at?: number, from?: number, to?: number): number
}

/** How bytes are made. The names are those of Buffer. */
export interface BytesMaker {
  from(text: string): Bytes
  /** A copy. */
  from(bytes: ArrayLike<number>): Bytes
  /** The same memory. */
  from(memory: ArrayBufferLike, offset: number, length: number): Bytes
  alloc(length: number): Bytes
  /** What is in it is anything. */
  allocUnsafe(length: number): Bytes
  /** Memory of its own, so that a slice keeps nothing else alive. */
  allocUnsafeSlow(length: number): Bytes
  concat(list: readonly Uint8Array[], length?: number): Bytes
  /** How many bytes the text has in UTF-8. */
  byteLength(text: string): number
  isBuffer(value: unknown): value is Bytes
}
