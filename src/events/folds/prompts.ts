import { digest } from '../../base/platform.ts'
import { memory } from '../memory.ts'
import { type Report, SURE } from '../report.ts'
import type { Range } from '../write.ts'
import type { Requests } from './requests.ts'
import type { Turns } from './turns.ts'

interface Sent {
  readonly begins: boolean
  readonly tell: () => void
}

/** Prompts and interrupts that may wait; if there are more, the oldest is told at once. */
const MAX_WAITING = 4096

/**
 * Tells the prompts that a client sent turn by turn: one that was sent during a turn is told when that is
 * over, and so is the interrupt after it. Without a clock all of them are read first.
 */
class SentTurns {
  readonly #waiting: Sent[] = []
  #running = false

  /** True if it was told, false if it waits. */
  add(sent: Sent): boolean {
    const waits = this.#waiting.length > 0 || (sent.begins && this.#running)
    if (waits) this.#waiting.push(sent)
    else this.#tell(sent)
    if (this.#waiting.length > MAX_WAITING) this.#tell(this.#waiting.shift()!)
    return !waits
  }

  /** The turn is over: the next one begins. */
  over(): void {
    this.#running = false
    while (this.#waiting[0] && !(this.#running && this.#waiting[0].begins)) this.#tell(this.#waiting.shift()!)
  }

  end(): void {
    while (this.#waiting.length > 0) this.over()
  }

  #tell({ begins, tell }: Sent): void {
    this.#running ||= begins
    tell()
  }
}

/** A prompt up to this length is remembered as it is: a digest would take longer to make than to compare. */
const SHORT = 64

/** What the user tells the agent, each prompt once, and how the client stops it. */
export class Prompts {
  readonly #report: Report
  readonly #turns: Turns
  readonly #requests: Requests
  readonly #sent = new SentTurns()
  /** By its text, or the digest of a long one: how much more often a prompt was sent than repeated. */
  readonly #known = memory<number>(() => 0)
  /** Prompts that were sent before the session was known: they come after it, and before any work. */
  #early: { readonly text: string; readonly range: Range }[] = []

  constructor(report: Report, turns: Turns, requests: Requests) {
    this.#report = report
    this.#turns = turns
    this.#requests = requests
  }

  /** The client sent it: told now, or when the turn is over that it was sent in. */
  sends(what: 'prompt' | 'interrupt', text = ''): true | 'kept' {
    const report = this.#report
    const frame = report.frame! // what is sent is in a frame
    this.#requests.sends(what)
    const later = () =>
      report.aside(frame, () => {
        this.#requests.tells(what)
        // A prompt that waited may have been a part of the turn that is over now.
        if (what === 'prompt' && frame === report.frame) this.#turns.begin()
        const told = what === 'interrupt' || this.tell(text)
        if (!told && frame !== report.frame) report.raw(frame.text, SURE)
      })
    return this.#sent.add({ begins: what === 'prompt', tell: later }) ? true : 'kept'
  }

  /**
   * Reports a prompt once, though it was sent and the agent repeats it: the nth of one text that was sent is
   * the nth that was repeated. False if the other side was told already.
   */
  tell(text: string): boolean {
    if (text === '') return true
    const report = this.#report
    const words = text.trim()
    const key = words.length > SHORT ? digest(words) : words
    const range = report.writer.place()
    const more = this.#known.take(key) ?? 0
    const step = range?.channel === 'stdin' ? 1 : -1
    if (more + step !== 0) this.#known.set(key, more + step)
    if (more * step < 0) return false
    if (range?.channel !== 'stdin' || report.session !== undefined) report.write('user.message', { text })
    else {
      this.#early.push({ text, range })
      report.beforeWork = () => this.tellEarly()
      report.spoke = true
    }
    return true
  }

  /** Tells the prompts that were sent before the session had begun. */
  tellEarly(): void {
    const early = this.#early
    this.#early = []
    this.#report.beforeWork = undefined
    for (const { text, range } of early)
      this.#report.aside(range, () => this.#report.write('user.message', { text }))
  }

  /** The turn is over. */
  turnOver(): void {
    this.#sent.over()
  }

  /** The input has ended. */
  end(): void {
    this.#sent.end()
    this.tellEarly()
  }
}
