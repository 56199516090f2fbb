import { blake2b } from '@noble/hashes/blake2.js'
import type { BytesMaker, Bytes as Shape } from './platform.ts'
import type { SimdSearch } from './wasm.ts'

/** Replaces `platform.ts` outside of Node, with what every browser and worker has. */
export type Bytes = Shape

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

/** Slices have this class, too: typed arrays create slices of their own class. */
class WebBytes extends Uint8Array implements Shape {
  declare subarray: (from?: number, to?: number) => WebBytes

  override toString(encoding: 'utf8' | 'latin1' = 'utf8', from = 0, to = this.length): string {
    const part = super.subarray(from, Math.max(from, to))
    return encoding === 'utf8' ? decoder.decode(part) : latin1(part)
  }

  override indexOf(sought: number | Uint8Array, from = 0): number {
    if (typeof sought === 'number') return super.indexOf(sought, from)
    if (sought.length === 0) return Math.min(from, this.length)
    const last = this.length - sought.length
    for (
      let at = super.indexOf(sought[0]!, from);
      at >= 0 && at <= last;
      at = super.indexOf(sought[0]!, at + 1)
    )
      if (this.#holds(sought, at)) return at
    return -1
  }

  override lastIndexOf(sought: number | Uint8Array, from = this.length - 1): number {
    if (typeof sought === 'number') return super.lastIndexOf(sought, from)
    let at = Math.min(from, this.length - sought.length)
    for (; at >= 0; at--) if (this.#holds(sought, at)) return at
    return -1
  }

  compare(other: Uint8Array, otherFrom = 0, otherTo = other.length, from = 0, to = this.length): number {
    const length = Math.min(to - from, otherTo - otherFrom)
    for (let i = 0; i < length; i++) {
      const order = this[from + i]! - other[otherFrom + i]!
      if (order !== 0) return Math.sign(order)
    }
    return Math.sign(to - from - (otherTo - otherFrom))
  }

  copy(target: Uint8Array, at = 0, from = 0, to = this.length): number {
    const part = super.subarray(from, Math.min(to, from + target.length - at))
    target.set(part, at)
    return part.length
  }

  #holds(sought: Uint8Array, at: number): boolean {
    for (let i = 0; i < sought.length; i++) if (this[at + i] !== sought[i]) return false
    return true
  }
}

/** In pieces, because a call takes a limited number of arguments. */
function latin1(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 4096)
    text += String.fromCharCode(...bytes.subarray(at, at + 4096))
  return text
}

function over(bytes: Uint8Array): WebBytes {
  return new WebBytes(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength)
}

function from(given: string | ArrayLike<number> | ArrayBufferLike, offset?: number, length?: number): Shape {
  if (typeof given === 'string') return over(encoder.encode(given))
  if ('byteLength' in given && offset !== undefined) return new WebBytes(given as ArrayBuffer, offset, length)
  return new WebBytes(given as ArrayLike<number>)
}

export const Bytes: BytesMaker = {
  from,
  alloc: (length) => new WebBytes(length),
  allocUnsafe: (length) => new WebBytes(length),
  allocUnsafeSlow: (length) => new WebBytes(length),
  concat(list, length = list.reduce((sum, { length }) => sum + length, 0)) {
    const all = new WebBytes(length)
    let at = 0
    for (const bytes of list) {
      all.set(bytes.subarray(0, length - at), at)
      at += bytes.length
      if (at >= length) break
    }
    return all
  },
  byteLength(text) {
    let length = 0
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit < 0x80) length++
      else if (unit < 0x800) length += 2
      else if (unit >= 0xd800 && unit < 0xdc00 && isLow(text.charCodeAt(i + 1))) {
        length += 4
        i++
      } else length += 3
    }
    return length
  },
  isBuffer: (value): value is Shape => value instanceof WebBytes,
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}

export function isAscii(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i]! >= 0x80) return false
  return true
}

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes)
    return true
  } catch {
    return false
  }
}

/** As in `platform.ts`; there is only one way to decode here. */
export function decodeForeign(bytes: Shape): string {
  return bytes.toString('utf8')
}

/** As in `platform.ts`: no digest leaves the process, so it need not be the same hash. */
export function digest(text: string | Uint8Array): string {
  const bytes = typeof text === 'string' ? encoder.encode(text) : text
  return latin1(blake2b(bytes, { dkLen: 16 }))
}

/** Not used here: bundles should be small, and many sites forbid compiling WebAssembly. */
export function simdSearch(): SimdSearch | undefined {
  return undefined
}
