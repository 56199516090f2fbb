import { Bytes } from '../base/platform.ts'
import { LF } from '../text/characters.ts'
import { lines } from '../text/lines.ts'
import { Cutter, recordIn } from './cut.ts'
import type { EngineCut, EngineFrame } from './engine.ts'
import type { Range } from './write.ts'

interface SentInputOptions {
  readonly maxFrame: number
  /** How the engine cuts stdin; `'unknown'` while no engine is known. */
  readonly cut: () => EngineCut['stdin'] | 'unknown'
  /** Takes a record of the wire, or a line between them. */
  readonly frame: (frame: EngineFrame) => void
  /** Takes a prompt that was sent as text. */
  readonly prompt: (text: string, range: Range) => void
}

/**
 * What was sent to the agent, on its stdin. If the agent speaks a wire there, each line is a record for the
 * engine. If not, all of it is one prompt, whatever it looks like: the agent reads it to its end before it
 * begins, so it is complete when the first record of stdout arrives. Until it is known which of them it is,
 * the bytes are held, at most `maxFrame`.
 */
export class SentInput {
  readonly #options: SentInputOptions
  readonly #cutter: Cutter
  readonly #records: ReturnType<typeof lines>
  #shape: 'records' | 'text' | undefined
  /** The engine has seen the first line. */
  #looked = false
  #held: Uint8Array[] = []
  #size = 0
  /** Bytes that were passed on as text. */
  #passed = 0

  constructor(options: SentInputOptions) {
    this.#options = options
    const { maxFrame, frame } = options
    this.#cutter = new Cutter({ channel: 'stdin', cut: () => ({ stdin: 'records' }), maxFrame }, frame)
    this.#records = lines('stdin', maxFrame, (line) => this.#cutter.line(line))
  }

  write(bytes: Uint8Array): void {
    if (this.#shape === 'records') {
      this.#records.write(bytes)
      return
    }
    this.#held.push(bytes)
    this.#size += bytes.length
    if (bytes.includes(LF)) this.#lookAtFirst(false)
    if (this.#size > this.#options.maxFrame) this.#settle()
  }

  /** A frame of the agent is about to be read: what was sent came before it. */
  before(frame: EngineFrame): void {
    if (this.#size > 0) this.#lookAtFirst(true)
    this.#decide(frame)
    if (this.#shape === 'text') this.#passText()
  }

  end(): void {
    if (this.#size > 0) this.#lookAtFirst(true)
    this.#settle()
    this.#records.end()
    this.#cutter.end()
  }

  /** Shows the engine the first line, unless it is known already what all of them are. */
  #lookAtFirst(whole: boolean): void {
    if (this.#looked || this.#options.cut() === 'unknown') return
    const text = this.#text().trimStart()
    const end = text.indexOf('\n')
    if (end < 0 && !whole) return
    this.#looked = true
    this.#decide({ channel: 'stdin', value: recordIn(end < 0 ? text : text.slice(0, end)) })
  }

  #decide(frame: Pick<EngineFrame, 'channel' | 'value'>): void {
    const cut = this.#options.cut()
    if (cut === 'unknown' || this.#shape !== undefined) return
    this.#shape = typeof cut === 'function' ? cut(frame) : (cut ?? 'text')
    if (this.#shape !== 'records') return
    const held = this.#held
    this.#held = []
    this.#size = 0
    for (const bytes of held) this.#records.write(bytes)
  }

  #settle(): void {
    this.#shape ??= 'text'
    if (this.#shape === 'text') this.#passText()
  }

  #passText(): void {
    if (this.#size === 0) return
    const text = this.#text().replace(/\r?\n$/, '')
    const from = this.#passed
    this.#passed += this.#size
    this.#held = []
    this.#size = 0
    this.#options.prompt(text, { channel: 'stdin', from, to: this.#passed })
  }

  #text(): string {
    this.#held = [Bytes.concat(this.#held)]
    return Bytes.from(this.#held[0]!).toString('utf8')
  }
}
