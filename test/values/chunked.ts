import { drive } from '../../src/base/stage.ts'
import type { Chunk } from '../../src/text/chunk.ts'
import type { Outcome } from '../../src/values/outcome.ts'
import type { Schema } from '../../src/values/schema/schema.ts'
import { type ValuesOptions, valueStage } from '../../src/values/values.ts'

/** The outcomes of a text that arrives in pieces of `size` bytes. */
export function outcomesOf<S extends Schema | undefined>(
  text: string | Uint8Array,
  options: ValuesOptions<S>,
  size = Number.POSITIVE_INFINITY,
) {
  const bytes = Buffer.from(text as string)
  const chunks: Chunk[] = []
  for (let at = 0; at < bytes.length; at += size) {
    chunks.push({ channel: 'stdout', bytes: bytes.subarray(at, at + size) })
  }
  return drive(valueStage(options), chunks)
}

/** The outcomes of a text, after making sure that they do not depend on where it is cut. */
export function outcomes<S extends Schema | undefined = undefined>(
  text: string | Uint8Array,
  options: ValuesOptions<S> = {},
) {
  const whole = outcomesOf(text, options)
  for (const size of [1, 2, 3, 7]) {
    const cut = JSON.stringify(outcomesOf(text, options, size).map(plain))
    if (cut !== JSON.stringify(whole.map(plain)))
      throw new Error(`another outcome with pieces of ${size}: ${cut}`)
  }
  return whole
}

/** What can be compared of an outcome: all of it, with the fault spelled out. */
export function plain(outcome: Outcome<unknown>): object {
  if (outcome.ok) return outcome
  const { code, message, errors, at } = outcome.fault
  return { ...outcome, fault: { code, message, errors, at } }
}

/** The outcomes in short: the value, or the code of the fault. */
export function brief<S extends Schema | undefined = undefined>(
  text: string | Uint8Array,
  options: ValuesOptions<S> = {},
): unknown[] {
  return outcomes(text, options).map((outcome) => (outcome.ok ? outcome.value : outcome.fault.code))
}
