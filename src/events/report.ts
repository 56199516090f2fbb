import { type Code, clip } from '../base/fault.ts'
import type { EngineFrame } from './engine.ts'
import type { EventData, EventType, Severity } from './event.ts'
import { AT_END, type Moment, type Position } from './position.ts'
import { checkFields } from './record.ts'
import type { RepeatedWarnings } from './repeated-warnings.ts'
import { UnknownRecords } from './unknown-records.ts'
import type { Range, Writer } from './write.ts'

/** Confidence in a plain protocol record. */
export const SURE = 0.95
/** Below this, what was read is a guess. */
export const LOW = 0.7
const MAX_RAW = 4096

/** Written out: a type that is made anew for each event is compared by its characters wherever it is read. */
const RAW = {
  stdout: 'raw.stdout',
  stderr: 'raw.stderr',
  pty: 'raw.pty',
  stdin: 'raw.stdin',
} as const

/** Events that may come before the first prompt. */
const beforeWork = /^(?:lifecycle|raw|diagnostic|user)\./

/** Builds data key by key: conditional spreads are slow. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** The frame that an engine reports about, and the events that are written about it. */
export class Report {
  readonly writer: Writer
  readonly warnings: RepeatedWarnings
  readonly strangers = new UnknownRecords()
  confidence = SURE
  /** The session that the agent has told. */
  session: string | undefined
  /** Called before the next event of the agent's work. */
  beforeWork: (() => void) | undefined

  /** The current frame, and whether an event is about it: a frame without any event is kept as raw. */
  frame: EngineFrame | undefined
  spoke = false
  /** The frame has a field, or a type, that the engine does not know. */
  #drifted = false
  unknown = false
  /** The kept frame that the engine is reporting about. */
  #kept: EngineFrame | undefined

  /** The position of the current frame in the run, and the number of things reported. */
  #here: Position = AT_END
  #said = 0
  /** The last frames of pipes and PTY: what an engine reports about kept lines is not after them. */
  #lastOfPipes = AT_END
  #lastOfPty = AT_END

  constructor(writer: Writer, warnings: RepeatedWarnings) {
    this.writer = writer
    this.warnings = warnings
  }

  /** A frame is about to be read; `again`: others read it, too. */
  begin(given: EngineFrame, position: Position, again: boolean): void {
    this.writer.about(given, again)
    this.frame = given
    this.#here = position
    // Blank lines are passed on late, and say nothing.
    if (given.channel === 'pty') this.#lastOfPty = position
    else if (!given.blank && given.channel !== 'stdin') this.#lastOfPipes = position
    this.spoke = this.#drifted = this.unknown = false
    this.#kept = undefined
    this.confidence = given.mended ? 0.8 : SURE
  }

  /** The frame was read; `keep` keeps one as raw that was not understood. */
  end(given: EngineFrame, understood: boolean | 'kept', keep: (frame: EngineFrame) => void): void {
    const silent = understood === true && (!this.spoke || this.#drifted || this.unknown)
    // The engine may have reported about a frame that it kept.
    if ((silent || understood === false) && this.writer.place() !== given) this.writer.about(given, true)
    if (understood === false) keep(given)
    else if (silent) this.raw(given.text, SURE)
    this.unknown = false
    this.frame = undefined
  }

  /** What follows is about the end of the input. */
  beginLast(): void {
    this.writer.about(undefined)
    this.confidence = SURE
    this.unknown = false
    this.#here = AT_END
  }

  /** What follows is about other bytes than the current frame: kept ones. */
  about(range: Range): void {
    this.writer.about(range, true)
    this.#here = range.channel === 'pty' ? this.#lastOfPty : this.#lastOfPipes
    // For the current frame, the raw record is written after the engine's other events.
    this.#kept = 'text' in range && range !== this.frame ? (range as EngineFrame) : undefined
    this.#drifted = false
  }

  /** Reports about another place in the middle of a frame: what was sent before, the end of a turn. */
  aside(range: Range | undefined, report: () => void): void {
    const here = this.writer.place()
    if (range !== here) this.writer.about(range, true)
    report()
    if (range !== here) this.writer.about(here, true)
  }

  now(): Moment {
    return { at: this.#here, nth: ++this.#said }
  }

  write<T extends EventType>(type: T, data: EventData[T], sure = this.confidence): void {
    if (this.beforeWork && !beforeWork.test(type)) this.beforeWork()
    // A frame that only ends an open message has no event of its own: that event is about the pieces.
    if (this.writer.place() === this.frame) this.spoke = true
    if (!this.strangers.known && this.#isKnowledge(type, sure)) this.strangers.known = true
    this.writer.write(type, data, sure)
  }

  warn(code: Code, message: string, severity: Severity = 'warning'): void {
    const { confidence } = this
    this.write('diagnostic.parser.warning', { code, message: clip(message, 300), severity, confidence })
  }

  raw(text: string, sure = this.confidence): void {
    const channel = this.writer.place()?.channel ?? 'stdout'
    const line = text.length > MAX_RAW ? text.slice(0, MAX_RAW) : text
    this.write(RAW[channel], line === text ? { line } : { line, truncated: true }, sure)
  }

  unknownType(name: string): void {
    this.unknown = true
    this.warnings.unknownType(name)
  }

  /** Reports the fields that the engine does not know, or not with such a value. */
  fields(record: object, known: string): void {
    checkFields(record, known, this.#drift)
  }

  readonly #drift = (name: string, odd: boolean): void => {
    this.warnings.unknownField(name, odd)
    // For a frame that was kept, the raw record is written here; else after the engine's other events.
    if (this.#kept && !this.#drifted) this.raw(this.#kept.text, SURE)
    this.#drifted = true
  }

  /** Whether such an event shows that the engine knows the records. */
  #isKnowledge(type: EventType, sure: number): boolean {
    // A line of text may still prove to stand next to records of another program.
    if (type === 'agent.message.delta' && sure < LOW) return false
    if (this.writer.place()?.channel === 'stdin') return false
    return !type.startsWith('raw.') && !type.startsWith('diagnostic.')
  }
}

/** An engine in JavaScript can say anything: what breaks the schema is thrown (PROFILE_FAILED). */
export function checkText(what: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw new TypeError(`${what} must be a string, but is ${typeof value}`)
}

export function checkWord(verb: string, word: unknown, ...known: readonly string[]): void {
  if (!known.includes(word as string)) throw new TypeError(`say.${verb} takes ${known.join(', ')} first`)
}
