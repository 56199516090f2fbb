/**
 * A hash of texts and bytes, 16 bytes as a string of 8 characters; undefined if the input is longer than its
 * memory.
 */
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
  try {
    // Casts: our types have no WebAssembly, and it does not say what a module exports.
    const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: Compiler }
    const module = new WebAssembly.Module(Uint8Array.from(atob(CODE), (one) => one.charCodeAt(0)))
    const { memory, hash } = new WebAssembly.Instance(module).exports
    return hashIn(memory.buffer, hash, key)
  } catch {
    return undefined
  }
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

interface Compiler {
  readonly Module: new (code: Uint8Array) => object
  readonly Instance: new (
    module: object,
  ) => {
    readonly exports: { readonly memory: { readonly buffer: ArrayBuffer }; hash(length: number): void }
  }
}

/** Made by `scripts/keyed-hash.ts`, which documents the code. */
const CODE =
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
