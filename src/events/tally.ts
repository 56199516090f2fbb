import { type Code, clip, codes, quote } from '../base/fault.ts'
import type { Writer } from './write.ts'

/** Number of names that are counted one by one; the rest is counted together. */
const MAX_NAMES = 256
const MAX_NAME = 80

const ODD = 'a record has a field with a kind or a value this parser does not know'

/**
 * Counts what is too frequent to report each time: the first of a kind is reported at once, the total
 * at the end.
 */
export function tally(writer: Writer) {
  const kinds = new Map<string, { code: Code; message: string; confidence: number; count: number }>()
  const types = new Map<string, number>()
  const fields = new Map<string, number>()

  const count = (names: Map<string, number>, name: string): boolean => {
    const known = names.get(name)
    if (known === undefined && names.size >= MAX_NAMES) {
      names.set('…', (names.get('…') ?? 0) + 1)
      return false
    }
    names.set(name, (known ?? 0) + 1)
    return known === undefined
  }

  const warn = (code: Code, message: string, confidence: number, more: object = {}) =>
    writer.write(
      'diagnostic.parser.warning',
      { code, message: clip(message, 300), severity: 'warning', confidence, ...more },
      confidence,
    )

  return {
    /** One more of a kind. */
    noise(kind: string, code: Code, confidence: number, message: string = codes[code]) {
      const known = kinds.get(kind)
      if (known) {
        known.count++
        return
      }
      kinds.set(kind, { code, message, confidence, count: 1 })
      warn(code, message, confidence)
    },
    type(given: string) {
      const name = clip(given, MAX_NAME)
      if (count(types, name)) warn('UNKNOWN_TYPE', `${codes.UNKNOWN_TYPE}: ${quote(name)}`, 0.3, { name })
    },
    field(given: string) {
      const name = clip(given, MAX_NAME)
      if (count(fields, name)) warn('UNKNOWN_FIELD', `${codes.UNKNOWN_FIELD}: ${quote(name)}`, 0.7, { name })
    },
    /** A field that is known with values of another kind: `text: list`. */
    odd(given: string) {
      const name = clip(given, MAX_NAME)
      if (count(fields, name)) warn('UNKNOWN_FIELD', `${ODD}: ${quote(name)}`, 0.7, { name })
    },
    /** The counts, and the drift report. */
    end() {
      for (const { code, message, confidence, count } of kinds.values()) {
        if (count > 1) warn(code, `${count} times: ${message}`, confidence, { count })
      }
      if (types.size + fields.size === 0) return
      const report = `${types.size} unknown types, ${fields.size} unknown fields`
      const drift = { types: Object.fromEntries(types), fields: Object.fromEntries(fields) }
      warn('DRIFT_REPORT', report, 0.95, { drift })
    },
  }
}
