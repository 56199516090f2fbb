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
    made = null
    try {
      // Casts: our types have no WebAssembly, and it does not say what a module exports.
      const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: Compiler }
      const module = new WebAssembly.Module(Uint8Array.from(atob(CODE), (one) => one.charCodeAt(0)))
      const { memory, next } = new WebAssembly.Instance(module).exports
      made = { memory: new Uint8Array(memory.buffer), next }
    } catch {
      // The caller falls back to the native search of the platform.
    }
  }
  return made ?? undefined
}

interface Compiler {
  readonly Module: new (code: Uint8Array) => object
  readonly Instance: new (
    module: object,
  ) => { readonly exports: Pick<SimdSearch, 'next'> & { readonly memory: { readonly buffer: ArrayBuffer } } }
}

let made: SimdSearch | null | undefined

/** Made by `scripts/simd-search.ts`, which documents the code. */
const CODE =
  'AGFzbQEAAAABDgFgCX9/f39/f39/fwF/AwIBAAUDAQADBxECBm1lbW9yeQIABG5leHQAAAqmAQGjAQIHewF/IAL9DyEJIAT9DyEK' +
  'IAb9DyELIAj9DyENQdwA/Q8hDEEb/Q8hDgJAA0AgACABTg0BIAD9AAAAIg8gCf0jIAAgA2r9AAAAIAr9I/1OIAAgBWr9AAAAIAv9' +
  'I/1OIA8gDP0jIAAgB2r9AAAAIA39I/1O/VAgDyAO/SP9UP1kIhAEQCAAIBBoaiIAIAFODQIgAA8LIABBEGohAAwACwtBfws='
