/**
 * Bytes with the Buffer methods that the core uses. In Node they are Buffers; elsewhere `platform-web.ts`
 * provides them.
 */
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
