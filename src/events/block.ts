import { TextBalance } from '../json/text-balance.ts'
import { type Line, placeOf, restOf } from '../text/lines.ts'
import type { EngineFrame } from './engine.ts'

/** Cost of a held line in addition to its text. */
const LINE_COST = 64

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
export function blockCutter({ names, maxFrame, parse, emit, asText, again }: BlockOptions) {
  let block: Block | undefined

  const close = (end: Place, to: number, more: { open?: true } = {}) => {
    const { label, held } = block!
    const lines = held.slice(0, held.indexOf(end.held) + 1)
    const text = lines
      .map((one) => one.line.text.slice(one.inside, one === end.held ? end.at : undefined))
      .join('\n')
    const value = parse(text)
    block = undefined
    emit(held[0]!.line, { kind: 'tag', to, text, label, ...(value !== undefined && { value }), ...more })
  }

  /** Not a block after all: its lines are passed on unchanged. */
  const release = (...more: Line[]) => {
    const [first, ...rest] = block?.held ?? []
    block = undefined
    if (first) asText(first.line)
    for (const { line } of rest) again(line)
    for (const line of more) again(line)
  }

  /** One more line inside a block. Returns what is after its end. */
  const inside = (line: Line): Line | undefined => {
    const { label, alone, content, held } = block!
    const mark = markIn(line.text, 0, label)
    const opens = mark !== undefined && !mark.closes
    if (opens || (!alone && !content.takes(line.text.slice(0, mark?.at ?? cutCloser(line, label))))) {
      release(line)
      return undefined
    }
    const last = { line, inside: 0 }
    held.push(last)
    block!.size += line.text.length + LINE_COST
    if (mark) return closeAt(last, mark)
    if (block!.size > maxFrame) release()
    return undefined
  }

  const closeAt = (held: Held, mark: Mark): Line | undefined => {
    const rest = restOf(held.line, held.line.text, mark.to)
    close({ held, at: mark.at }, rest ? rest.from : held.line.to)
    return rest
  }

  /** A line, or the rest of one, outside any block. */
  const outside = (line: Line): Line | undefined => {
    const [label, opener] = openerIn(line.text, names() ?? [])
    if (label === undefined || opener === undefined) {
      asText(line)
      return undefined
    }
    const glued = line.text.slice(0, opener.at).trim() !== ''
    if (glued) asText(head(line, opener.at))
    const first = glued ? restOf(line, line.text, opener.at)! : line
    const from = opener.to - (glued ? opener.at : 0)
    const held = { line: first, inside: from }
    const next = markIn(first.text, from, label)
    if (next && !next.closes) {
      asText(head(first, next.at))
      return restOf(first, first.text, next.at)
    }
    const alone = line.text.trim() === `<${label}>`
    const content = new Content()
    block = { label, alone, content, held: [held], size: first.text.length }
    if (next) return closeAt(held, next)
    if (!alone && !content.takes(first.text.slice(from, cutCloser(first, label)))) release()
    return undefined
  }

  return {
    open: () => block !== undefined,
    line(line: Line): void {
      for (let rest = block ? inside(line) : line; rest; ) rest = outside(rest)
    },
    /** End of input: an object in an open block is the block, complete or cut off. */
    end(): void {
      if (!block) return
      const { held, label } = block
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
        close({ held: one, at: end }, whole ? last.line.to : rest ? rest.from : line.to, { open: true })
        if (whole) return
        if (rest) asText(rest)
        for (const { line } of more) again(line)
        return
      }
      if (content.state === 'inside') close({ held: last, at: undefined }, last.line.to, { open: true })
      else release()
    },
  }
}

/** A line of a block, and where the content of the block begins in it. */
interface Held {
  readonly line: Line
  readonly inside: number
}

interface Place {
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
    const end = this.#balance.readStrictly(text, at)
    if (end === 'inside') return undefined
    if (end !== 'broken') this.state = 'behind'
    else this.state = 'before'
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

/** The part of a line up to `at`. */
function head(line: Line, at: number): Line {
  return { ...line, text: line.text.slice(0, at), to: placeOf(line, at), open: false }
}
