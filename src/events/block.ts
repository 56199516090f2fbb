import { TextBalance } from '../json/text-balance.ts'
import { headOf, LINE_COST, type Line, restOf } from '../text/lines.ts'
import type { EngineFrame } from './engine.ts'

interface BlockOptions {
  /** The names of the blocks to look for at the moment. */
  readonly names: () => readonly string[] | undefined
  readonly maxFrame: number
  readonly parse: (text: string) => unknown
  /** Emits a block that begins with the line `first`. */
  readonly emit: (first: Line, frame: Omit<EngineFrame, 'channel' | 'from'>) => void
  readonly asText: (line: Line) => void
  /** Takes back a line that was held, but is in no block. */
  readonly again: (line: Line) => void
}

/**
 * Cuts blocks out of lines of text. The marks can be on lines of their own, or inside other text:
 *
 *     Done.<Execution Info>{"session-id": "s"}</Execution Info> bye
 *          ^ opener                            ^ closer
 *
 * An opener next to other text may only be a mention of the tag: a JSON object must follow, and nothing
 * between it and the closer. A block that is open at the end of the input ends after its object, if that is
 * complete. Held: the lines of one block, at most `maxFrame`.
 */
export class BlockCutter {
  readonly #options: BlockOptions
  #block: Block | undefined

  constructor(options: BlockOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#block !== undefined
  }

  line(line: Line): void {
    for (let rest = this.#block ? this.#inside(line) : line; rest; ) rest = this.#outside(rest)
  }

  /** End of input: an object in an open block is the block, complete or cut off. */
  end(): void {
    if (!this.#block) return
    const { held, label } = this.#block
    const content = new Content()
    const last = held.at(-1)!
    for (const [index, one] of held.entries()) {
      const { line, inside } = one
      const end = content.read(line.text, inside)
      if (end === 'broken') break
      if (end === undefined) continue
      const rest = restOf(line, line.text, end)
      const more = held.slice(index + 1)
      const following = [rest?.text ?? '', ...more.map((one) => one.line.text)].join('').trim()
      // A partial closer belongs to the block.
      const whole = `</${label}>`.startsWith(following)
      this.#close({ held: one, at: end }, whole ? last.line.to : rest ? rest.from : line.to, { open: true })
      if (whole) return
      if (rest) this.#options.asText(rest)
      for (const { line } of more) this.#options.again(line)
      return
    }
    if (content.state === 'inside') this.#close({ held: last, at: undefined }, last.line.to, { open: true })
    else this.#release()
  }

  #close(end: BlockPlace, to: number, more: { open?: true } = {}): void {
    const { label, held } = this.#block!
    const lines = held.slice(0, held.indexOf(end.held) + 1)
    const text = lines
      .map((one) => one.line.text.slice(one.inside, one === end.held ? end.at : undefined))
      .join('\n')
    const value = this.#options.parse(text)
    const known = value === undefined ? more : { value, ...more }
    this.#block = undefined
    this.#options.emit(held[0]!.line, { kind: 'tag', to, text, label, ...known })
  }

  /** Not a block after all: its lines are passed on unchanged. */
  #release(...more: Line[]): void {
    const [first, ...rest] = this.#block?.held ?? []
    this.#block = undefined
    if (first) this.#options.asText(first.line)
    for (const { line } of rest) this.#options.again(line)
    for (const line of more) this.#options.again(line)
  }

  /** One more line inside a block. Returns what is after its end. */
  #inside(line: Line): Line | undefined {
    const { label, alone, content, held } = this.#block!
    const mark = markIn(line.text, 0, label)
    const opens = mark !== undefined && !mark.closes
    if (opens || (!alone && !content.takes(line.text.slice(0, mark?.at ?? cutCloser(line, label))))) {
      this.#release(line)
      return undefined
    }
    const last = { line, inside: 0 }
    held.push(last)
    this.#block!.size += line.text.length + LINE_COST
    if (mark) return this.#closeAt(last, mark)
    if (this.#block!.size > this.#options.maxFrame) this.#release()
    return undefined
  }

  #closeAt(held: Held, mark: Mark): Line | undefined {
    const rest = restOf(held.line, held.line.text, mark.to)
    this.#close({ held, at: mark.at }, rest ? rest.from : held.line.to)
    return rest
  }

  /** A line, or the rest of one, outside any block. */
  #outside(line: Line): Line | undefined {
    const [label, opener] = openerIn(line.text, this.#options.names() ?? [])
    if (label === undefined || opener === undefined) {
      this.#options.asText(line)
      return undefined
    }
    const glued = line.text.slice(0, opener.at).trim() !== ''
    if (glued) this.#options.asText(headOf(line, opener.at))
    const first = glued ? restOf(line, line.text, opener.at)! : line
    const from = opener.to - (glued ? opener.at : 0)
    const held = { line: first, inside: from }
    const next = markIn(first.text, from, label)
    if (next && !next.closes) {
      this.#options.asText(headOf(first, next.at))
      return restOf(first, first.text, next.at)
    }
    const alone = line.text.trim() === `<${label}>`
    const content = new Content()
    this.#block = { label, alone, content, held: [held], size: first.text.length }
    if (next) return this.#closeAt(held, next)
    if (!alone && !content.takes(first.text.slice(from, cutCloser(first, label)))) this.#release()
    return undefined
  }
}

/** A line of a block, and where the content of the block begins in it. */
interface Held {
  readonly line: Line
  readonly inside: number
}

interface BlockPlace {
  readonly held: Held
  readonly at: number | undefined
}

interface Block {
  readonly label: string
  /** The opener has a line of its own. */
  readonly alone: boolean
  readonly content: Content
  readonly held: Held[]
  size: number
}

/** Tracks the one JSON object of a block. Reused for each of its lines. */
class Content {
  state: 'before' | 'inside' | 'behind' = 'before'
  readonly #balance = new TextBalance()

  /** Whether the text fits here: blanks, the object, blanks. */
  takes(text: string): boolean {
    if (this.state === 'behind') return text.trim() === ''
    const end = this.read(text, 0)
    return end === undefined || (end !== 'broken' && text.slice(end).trim() === '')
  }

  /** The end of the object in the text, if it ends there. */
  read(text: string, from: number): number | 'broken' | undefined {
    let at = from
    if (this.state === 'before') {
      while (text[at] === ' ' || text[at] === '\t') at++
      if (at >= text.length) return undefined
      if (text[at] !== '{') return 'broken'
      this.state = 'inside'
    }
    const end = this.#balance.read(text, at)
    if (end === 'inside') return undefined
    this.state = end === 'broken' ? 'before' : 'behind'
    return end
  }
}

interface Mark {
  readonly at: number
  readonly to: number
  readonly closes: boolean
}

/** The next opener or closer of this name. One search finds both, so that a line is read once. */
function markIn(text: string, from: number, name: string): Mark | undefined {
  const end = `${name}>`
  for (let at = text.indexOf(end, from); at >= 0; at = text.indexOf(end, at + 1)) {
    const closes = text[at - 1] === '/'
    const start = at - (closes ? 2 : 1)
    if (start >= from && text[start] === '<') return { at: start, to: at + end.length, closes }
  }
  return undefined
}

/** The first opener of any of the names. */
function openerIn(text: string, names: readonly string[]): [string?, Mark?] {
  let found: [string?, Mark?] = []
  for (const name of names) {
    let mark = markIn(text, 0, name)
    while (mark?.closes) mark = markIn(text, mark.to, name)
    if (mark && mark.at < (found[1]?.at ?? Number.POSITIVE_INFINITY)) found = [name, mark]
  }
  return found
}

/** Start of a closer that the end of input cut off; else the end of the line. */
function cutCloser({ text, open }: Line, name: string): number {
  const at = open ? text.lastIndexOf('<') : -1
  return at >= 0 && `</${name}>`.startsWith(text.slice(at)) ? at : text.length
}
