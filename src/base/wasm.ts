/**
 * Searches for three patterns at once, 16 bytes at a time. A native search for one of them takes as long as
 * this takes for all three: backslashes are dense in JSON that holds text, and each one stops the search for
 * `\\u`.
 */
export interface SimdSearch {
  /** Copy the bytes to search here; `SIMD_ROOM` bytes fit. */
  readonly memory: Uint8Array
  /**
   * The first position in `[from, end)` of one of: `byte1` with `byte2` and `byte3` at their distances after
   * it; a backslash with `escapeByte` at its distance; an ESC. -1 if there is none. Bytes after `end` may
   * count as part of a match that begins before it.
   */
  next(
    from: number,
    end: number,
    byte1: number,
    at2: number,
    byte2: number,
    at3: number,
    byte3: number,
    escapeAt: number,
    escapeByte: number,
  ): number
}

export const SIMD_ROOM = 1 << 17

/** The search, compiled once; undefined where WebAssembly or its SIMD is missing or forbidden. */
export function simdSearch(): SimdSearch | undefined {
  if (made === undefined) {
    const code = compiled<Pick<SimdSearch, 'next'>>(SEARCH_CODE)
    // Without it, the caller falls back to the native search of the platform.
    made = code ? { memory: new Uint8Array(code.memory.buffer), next: code.next } : null
  }
  return made ?? undefined
}

let made: SimdSearch | null | undefined

/** A hash of 16 bytes as 8 characters; undefined if the input is longer than its memory. */
export type KeyedHash = (text: string | Uint8Array) => string | undefined

/** Layout of the module's memory: the result, the key, then the data, followed by eight zeros. */
const KEY = 16
const DATA = 32
const ROOM = 1 << 16
const ZEROS = 8

/**
 * SipHash-2-4 with 128 bits, in WebAssembly: three to four times as fast as the hashes of `node:crypto` on a
 * typical record. The key is random and never leaves the process, so an agent cannot craft two records that
 * collide. Undefined where WebAssembly is missing or forbidden.
 *
 * @example
 * const hash = keyedHash(crypto.getRandomValues(new Uint8Array(16)))
 * hash?.('{"type":"turn.completed"}')?.length // 8
 */
export function keyedHash(key: Uint8Array): KeyedHash | undefined {
  const code = compiled<{ hash(length: number): void }>(HASH_CODE)
  return code && hashIn(code.memory.buffer, code.hash, key)
}

function hashIn(memory: ArrayBuffer, hash: (length: number) => void, key: Uint8Array): KeyedHash {
  const all = new Uint8Array(memory)
  all.set(key, KEY)
  const data = all.subarray(DATA, DATA + ROOM)
  const answer = new Uint16Array(memory, 0, 8)
  const encoder = new TextEncoder()
  return (text) => {
    let { length } = text
    if (length > ROOM) return undefined
    if (typeof text === 'string') {
      const { read, written } = encoder.encodeInto(text, data)
      if (read < length) return undefined
      length = written
    } else data.set(text)
    all.fill(0, DATA + length, DATA + length + ZEROS)
    hash(length)
    return eightUnits(answer)
  }
}

/** Written out: spreading a typed array takes longer than the hash itself. */
function eightUnits(of: Uint16Array): string {
  return String.fromCharCode(of[0]!, of[1]!, of[2]!, of[3]!, of[4]!, of[5]!, of[6]!, of[7]!)
}

/** What a module exports; undefined where WebAssembly, or a feature of it, is missing or forbidden. */
function compiled<Exports>(code: string): (Exports & Memory) | undefined {
  try {
    // Casts: our types have no WebAssembly, and it does not say what a module exports.
    const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: Compiler }
    const module = new WebAssembly.Module(Uint8Array.from(atob(code), (one) => one.charCodeAt(0)))
    return new WebAssembly.Instance(module).exports as Exports & Memory
  } catch {
    return undefined
  }
}

interface Memory {
  readonly memory: { readonly buffer: ArrayBuffer }
}

interface Compiler {
  readonly Module: new (code: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

/** Made by `scripts/simd-search.ts`, which documents the code. */
const SEARCH_CODE =
  'AGFzbQEAAAABDgFgCX9/f39/f39/fwF/AwIBAAUDAQADBxECBm1lbW9yeQIABG5leHQAAAqmAQGjAQIHewF/IAL9DyEJIAT9DyEK' +
  'IAb9DyELIAj9DyENQdwA/Q8hDEEb/Q8hDgJAA0AgACABTg0BIAD9AAAAIg8gCf0jIAAgA2r9AAAAIAr9I/1OIAAgBWr9AAAAIAv9' +
  'I/1OIA8gDP0jIAAgB2r9AAAAIA39I/1O/VAgDyAO/SP9UP1kIhAEQCAAIBBoaiIAIAFODQIgAA8LIABBEGohAAwACwtBfws='

/** Made by `scripts/keyed-hash.ts`, which documents the code. */
const HASH_CODE =
  'AGFzbQEAAAABBQFgAX8AAwIBAAUDAQACBxECBm1lbW9yeQIABGhhc2gAAArrCgHoCgICfwV+QQApAxBC9crNg9es27fzAIUhA0EAKQMY' +
  'QoPfkfOWzNy35ACFIQRBACkDEELh5JXz1uzZvOwAhSEFQQApAxhC88rRy6eM2bL0AIUhBiAAQXhxIQICQANAIAEgAk4NASABKQMgIQcg' +
  'BiAHhSEGIAMgBHwhAyAEQg2JIQQgBCADhSEEIANCIIkhAyAFIAZ8IQUgBkIQiSEGIAYgBYUhBiADIAZ8IQMgBkIViSEGIAYgA4UhBiAF' +
  'IAR8IQUgBEIRiSEEIAQgBYUhBCAFQiCJIQUgAyAEfCEDIARCDYkhBCAEIAOFIQQgA0IgiSEDIAUgBnwhBSAGQhCJIQYgBiAFhSEGIAMg' +
  'BnwhAyAGQhWJIQYgBiADhSEGIAUgBHwhBSAEQhGJIQQgBCAFhSEEIAVCIIkhBSADIAeFIQMgAUEIaiEBDAALCyABKQMgIACtQjiGhCEH' +
  'IAYgB4UhBiADIAR8IQMgBEINiSEEIAQgA4UhBCADQiCJIQMgBSAGfCEFIAZCEIkhBiAGIAWFIQYgAyAGfCEDIAZCFYkhBiAGIAOFIQYg' +
  'BSAEfCEFIARCEYkhBCAEIAWFIQQgBUIgiSEFIAMgBHwhAyAEQg2JIQQgBCADhSEEIANCIIkhAyAFIAZ8IQUgBkIQiSEGIAYgBYUhBiAD' +
  'IAZ8IQMgBkIViSEGIAYgA4UhBiAFIAR8IQUgBEIRiSEEIAQgBYUhBCAFQiCJIQUgAyAHhSEDIAVC7gGFIQUgAyAEfCEDIARCDYkhBCAE' +
  'IAOFIQQgA0IgiSEDIAUgBnwhBSAGQhCJIQYgBiAFhSEGIAMgBnwhAyAGQhWJIQYgBiADhSEGIAUgBHwhBSAEQhGJIQQgBCAFhSEEIAVC' +
  'IIkhBSADIAR8IQMgBEINiSEEIAQgA4UhBCADQiCJIQMgBSAGfCEFIAZCEIkhBiAGIAWFIQYgAyAGfCEDIAZCFYkhBiAGIAOFIQYgBSAE' +
  'fCEFIARCEYkhBCAEIAWFIQQgBUIgiSEFIAMgBHwhAyAEQg2JIQQgBCADhSEEIANCIIkhAyAFIAZ8IQUgBkIQiSEGIAYgBYUhBiADIAZ8' +
  'IQMgBkIViSEGIAYgA4UhBiAFIAR8IQUgBEIRiSEEIAQgBYUhBCAFQiCJIQUgAyAEfCEDIARCDYkhBCAEIAOFIQQgA0IgiSEDIAUgBnwh' +
  'BSAGQhCJIQYgBiAFhSEGIAMgBnwhAyAGQhWJIQYgBiADhSEGIAUgBHwhBSAEQhGJIQQgBCAFhSEEIAVCIIkhBUEAIAMgBIUgBYUgBoU3' +
  'AwAgBELdAYUhBCADIAR8IQMgBEINiSEEIAQgA4UhBCADQiCJIQMgBSAGfCEFIAZCEIkhBiAGIAWFIQYgAyAGfCEDIAZCFYkhBiAGIAOF' +
  'IQYgBSAEfCEFIARCEYkhBCAEIAWFIQQgBUIgiSEFIAMgBHwhAyAEQg2JIQQgBCADhSEEIANCIIkhAyAFIAZ8IQUgBkIQiSEGIAYgBYUh' +
  'BiADIAZ8IQMgBkIViSEGIAYgA4UhBiAFIAR8IQUgBEIRiSEEIAQgBYUhBCAFQiCJIQUgAyAEfCEDIARCDYkhBCAEIAOFIQQgA0IgiSED' +
  'IAUgBnwhBSAGQhCJIQYgBiAFhSEGIAMgBnwhAyAGQhWJIQYgBiADhSEGIAUgBHwhBSAEQhGJIQQgBCAFhSEEIAVCIIkhBSADIAR8IQMg' +
  'BEINiSEEIAQgA4UhBCADQiCJIQMgBSAGfCEFIAZCEIkhBiAGIAWFIQYgAyAGfCEDIAZCFYkhBiAGIAOFIQYgBSAEfCEFIARCEYkhBCAE' +
  'IAWFIQQgBUIgiSEFQQAgAyAEhSAFhSAGhTcDCAs='
