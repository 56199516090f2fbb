import { runCodes } from '../base/fault.ts'
import { type EngineFrame, isRecord } from './engine.ts'

/** Limits of the shape of a record in a message. */
const MAX_KEYS = 10
const MAX_INNER = 4
const MAX_KEY = 24

/**
 * Recognizes a stream of records that the engine does not know. A single document may be anything;
 * several, of which the engine understood none, mean that another program wrote them.
 */
export class UnknownRecords {
  /** The engine reported something about the run. */
  known = false
  /** The engine that the caller has named, if one was. */
  engine: string | undefined
  #count = 0
  #first: EngineFrame | undefined

  /** A frame that the engine did not understand. No protocol is on stderr, and stdin is not the agent's. */
  saw(frame: EngineFrame): void {
    if (this.known || frame.channel === 'stderr' || frame.channel === 'stdin') return
    const whole = holdsRecord(frame.value)
    if (!(whole || frame.open)) return
    this.#count++
    if (whole) this.#first ??= frame
  }

  /** What to report at the end, and where. */
  found(): { readonly first: EngineFrame; readonly message: string } | undefined {
    const first = this.#first
    if (this.known || this.#count < 2 || !first) return undefined
    const what =
      this.engine === undefined
        ? runCodes.ENGINE_UNKNOWN
        : `none of the records is one of ${this.engine}, so all of them are kept as raw`
    const message = `${what} (${this.#count}); the first: ${shapeOf(first.value)}`
    return { first, message }
  }
}

/** True for an object, and for an array that contains one: `[1]` may be a footnote. */
export function holdsRecord(value: unknown): boolean {
  return isRecord(value) || (Array.isArray(value) && value.some(isRecord))
}

/** The keys of a record, and of the records in it, without any value: `{type, item{id, text}}`. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return `[${shapeOf(value.find(isRecord))}]`
  return isRecord(value) ? keysOf(value, MAX_KEYS, (inner) => keysOf(inner, MAX_INNER, () => '')) : ''
}

type Keyed = Record<string, unknown>

function keysOf(record: Keyed, max: number, inside: (record: Keyed) => string): string {
  const shown: string[] = []
  for (const key in record) {
    if (shown.length === max) {
      shown.push('…')
      break
    }
    const inner = record[key]
    shown.push(nameOf(key) + (isRecord(inner) ? inside(inner) : ''))
  }
  return `{${shown.join(', ')}}`
}

/** A key that is not a plain name may contain anything, including a secret or a control character. */
function nameOf(key: string): string {
  return key.length <= MAX_KEY && /^[\w.$@/-]+$/.test(key) ? key : '…'
}
