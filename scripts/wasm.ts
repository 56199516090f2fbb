// The part of the WebAssembly format that our hand-made modules need (scripts/simd-search.ts,
// scripts/keyed-hash.ts).

export const I32 = 0x7f
export const I64 = 0x7e
export const V128 = 0x7b

export const get = (local: number) => [0x20, local]
export const set = (local: number) => [0x21, local]
export const tee = (local: number) => [0x22, local]
export const constant = (value: number) => [0x41, ...signed(BigInt(value))]
export const longConstant = (value: bigint) => [0x42, ...signed(BigInt.asIntN(64, value))]

interface Function {
  readonly name: string
  /** The types of its parameters and results. */
  readonly takes: readonly number[]
  readonly answers: readonly number[]
  /** Groups of locals, each a count and a type. */
  readonly locals: readonly (readonly [number, number])[]
  /** Without the closing `end`. */
  readonly code: readonly number[]
}

/** A module with one function and one memory of `pages` pages of 64 KiB; it exports both. */
export function moduleOf({ name, takes, answers, locals, code }: Function, pages: number): Uint8Array {
  const body = [locals.length, ...locals.flat(), ...code, 0x0b]
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, takes.length, ...takes, answers.length, ...answers]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, pages]),
    ...section(7, [2, ...text('memory'), 2, 0, ...text(name), 0, 0]),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ])
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsigned(content.length), ...content]
}

function text(name: string): number[] {
  return [name.length, ...Buffer.from(name)]
}

function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)]
}

function signed(value: bigint): number[] {
  const low = Number(value & 127n)
  return value >= -64n && value < 64n ? [low] : [low | 128, ...signed(value >> 7n)]
}
