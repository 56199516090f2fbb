import { type Code, clip, meaningOf, quote, runCodes } from '../base/fault.ts'
import type { Writer } from './write.ts'

/** Number of names that are counted one by one; the rest is counted together. */
const MAX_NAMES = 256
const MAX_NAME = 80

const ODD_FIELD = 'a record has a field with a kind or a value this parser does not know'

/** Warnings about what is frequent: the first of a kind at once, the total at the end. */
export class RepeatedWarnings {
  readonly #writer: Writer
  readonly #kinds = new Map<string, { code: Code; message: string; confidence: number; count: number }>()
  readonly #types = new Map<string, number>()
  readonly #fields = new Map<string, number>()

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /** One more of a kind. */
  warn(kind: string, code: Code, confidence: number, message: string = meaningOf(code)): void {
    const known = this.#kinds.get(kind)
    if (known) {
      known.count++
      return
    }
    this.#kinds.set(kind, { code, message, confidence, count: 1 })
    this.#write(code, message, confidence)
  }

  unknownType(given: string): void {
    const name = clip(given, MAX_NAME)
    if (isNew(this.#types, name))
      this.#write('UNKNOWN_TYPE', `${runCodes.UNKNOWN_TYPE}: ${quote(name)}`, 0.3, { name })
  }

  /** A field that is not known, or is `odd`: not known with such a value (`text: list`). */
  unknownField(given: string, odd: boolean): void {
    const name = clip(given, MAX_NAME)
    const message = odd ? ODD_FIELD : runCodes.UNKNOWN_FIELD
    if (isNew(this.#fields, name)) this.#write('UNKNOWN_FIELD', `${message}: ${quote(name)}`, 0.7, { name })
  }

  /** The counts, and the drift report. */
  end(): void {
    for (const { code, message, confidence, count } of this.#kinds.values()) {
      if (count > 1) this.#write(code, `${count} times: ${message}`, confidence, { count })
    }
    const types = this.#types
    const fields = this.#fields
    if (types.size + fields.size === 0) return
    const unknown = (count: number, what: string) => `${count} unknown ${what}${count === 1 ? '' : 's'}`
    const report = `${unknown(types.size, 'type')}, ${unknown(fields.size, 'field')}`
    const drift = { types: Object.fromEntries(types), fields: Object.fromEntries(fields) }
    this.#write('DRIFT_REPORT', report, 0.95, { drift })
  }

  #write(code: Code, message: string, confidence: number, more: object = {}): void {
    const data = { code, message: clip(message, 300), severity: 'warning' as const, confidence, ...more }
    this.#writer.write('diagnostic.parser.warning', data, confidence)
  }
}

/** Counts a name; true for the first time. */
function isNew(names: Map<string, number>, name: string): boolean {
  const known = names.get(name)
  if (known === undefined && names.size >= MAX_NAMES) {
    names.set('…', (names.get('…') ?? 0) + 1)
    return false
  }
  names.set(name, (known ?? 0) + 1)
  return known === undefined
}
