import { Bytes } from '../base/platform.ts'
import type { Place } from '../json/after-value.ts'
import { ByteBalance } from '../json/byte-balance.ts'
import { COLON, GREATER, isBlank, OPEN_BRACE, OPEN_BRACKET, SPACE } from '../text/characters.ts'
import type { Tape } from '../text/tape.ts'
import { brokenRestMachine } from './broken-rest.ts'
import { isAside } from './citations.ts'
import { withoutQuotes } from './line-head.ts'
import { type BracketRule, bracketCheck } from './opening-bracket.ts'
import type { Inside, Scan } from './scan.ts'
import { objectTooLong } from './too-long.ts'
import { WhatFollows } from './what-follows.ts'
import { isPiece } from './within.ts'

/** What ends a candidate early. */
export interface Interruptions {
  /** The next tag opener at or after a position, whatever it opens. */
  nextTag(from: number): number
  /** The next fence line; not `decided` while its line is incomplete. */
  nextFence(from: number): { readonly at: number; readonly decided: boolean }
  /** Tag openers and fences are known up to this position; half of one may follow. */
  known(): number
  /** Whether NDJSON records are cut: then a torn record must not swallow the next line. */
  readonly lines: boolean
}

/** After a raw line break in a string, a candidate may grow to what the repair accepts. */
const MAX_BROKEN = 65_536
/** How many bytes of a channel are read again because an object in them did not end where it seemed to. */
const MAX_REREAD = 16 * MAX_BROKEN
/** How much of the next line shows that it assigns something to a name. */
const MAX_SETTING = 128
/** Of a string of code that may be joined with others. */
const MAX_JOINED = 512

/**
 * A bare object or array, found by its balanced brackets.
 *
 *     The result is {"a": [1, "}"]} as asked.
 *                   ^ from        ^ depth 0
 *                                   ^ what follows decides whether it was complete
 *
 * Only the outermost candidate is tried, and one that fails ends where it failed: nothing is read twice.
 */
export class ObjectMachine implements Inside {
  readonly #scan: Scan
  readonly #tape: Tape
  readonly #interruptions: Interruptions
  readonly #endOfBroken: (text: string) => number
  #reread = 0
  readonly #passBrokenRest: (from: number) => void
  readonly #balance = new ByteBalance()
  readonly #follows: WhatFollows
  #from = 0
  /** It begins the input, and may be the whole of it. */
  #first = false
  #judge = bracketCheck('strict', OPEN_BRACE)
  /** Everything before it has been looked at. */
  #seek = 0
  #stage: 'opening' | 'body' | 'behind' = 'opening'
  /** A string contained a raw LF: this is not JSON, but it may be repairable. */
  #torn = false
  #attached = false
  #place: Place = 'prose'
  /** How many `>` are before it, and before its other lines. */
  #quotes = 0
  /** Its first key has no quotes: outside a schema it is most often prose, and so is what follows it. */
  #bare = false
  /** One past its closer, once that is found. */
  #to = 0

  constructor(scan: Scan, interruptions: Interruptions, endOfBroken: (text: string) => number) {
    this.#scan = scan
    this.#tape = scan.tape
    this.#interruptions = interruptions
    this.#endOfBroken = endOfBroken
    this.#passBrokenRest = brokenRestMachine(scan, interruptions)
    this.#follows = new WhatFollows(scan)
    scan.head.keepsBefore = true
  }

  /** Tries the bracket at `from`. */
  open(from: number, rule: BracketRule, first: boolean): void {
    if (rule === 'strict' && this.#isPlainProse(from)) {
      this.#scan.leave(from + 1)
      return
    }
    this.#from = from
    this.#first = first
    this.#quotes = this.#scan.head.container(from)?.quotes ?? 0
    this.#judge = bracketCheck(rule, this.#scan.byte(from) ?? 0)
    this.#seek = from + 1
    this.#stage = 'opening'
    this.#torn = false
    this.#attached = false
    this.#scan.enter(this)
  }

  keep(): number {
    return this.#from
  }

  look(): boolean {
    const scan = this.#scan
    const { end } = this.#tape
    const limit = scan.limit(this.#from)
    if (this.#stage === 'opening') {
      const opens = this.#judgeOpening(Math.min(limit, end))
      if (opens === undefined) return end >= limit && this.#outgrow(limit)
      if (!opens) return this.#leave(this.#seek)
      this.#stage = 'body'
      this.#attached = scan.head.attached(this.#from)
      this.#place = this.#first ? 'document' : scan.head.quoted(this.#from) ? 'after a quote' : 'prose'
      this.#bare = scan.byte(this.#seek) === COLON
      this.#balance.reset(1)
      // Not by more than its bracket: the rest may not have arrived.
      if (scan.opened && !this.#isPiece(1)) scan.opened('object', this.#from, this.#seek)
    }
    if (this.#stage === 'body' && !this.#walk(limit)) return false
    if (scan.inside !== this || this.#stage === 'body') return true
    const bound = Math.min(limit, end)
    const broken = this.#follows.look(bound, end >= limit)
    if (broken === undefined || this.#awaitsNextLine(bound, end >= limit)) return false
    this.#cut(broken)
    return true
  }

  finish(): void {
    const { end } = this.#tape
    if (this.#stage === 'behind') this.#cut(this.#follows.look(end, true) ?? -1)
    else if (this.#stage === 'body' && this.#endEarlier(end)) return
    // The first bracket of the input may be the whole document.
    else if (this.#stage === 'body' || this.#first) this.#emit(end, true, undefined, this.#isPiece())
    else this.#scan.leave(end)
  }

  skipToEnd(): void {
    this.#seek = this.#tape.end
    this.#torn = false
    this.#balance.reset(1)
  }

  /** The next byte shows most brackets in prose, as in `[INFO]` and `fn()[i]`, without any setup. */
  #isPlainProse(from: number): boolean {
    const scan = this.#scan
    const next = from + 1
    if (scan.byte(from) !== OPEN_BRACKET || next >= this.#tape.end || next >= scan.limit(from)) return false
    const byte = scan.byte(next)!
    return byte !== OPEN_BRACE && byte < 0x80 && !isBlank(byte)
  }

  #judgeOpening(bound: number): boolean | undefined {
    for (; this.#seek < bound; this.#seek++) {
      const byte = this.#scan.byte(this.#seek) ?? 0
      const isMark = byte === GREATER && this.#quotes > 0 && this.#scan.head.container(this.#seek)
      const opens = this.#judge(isMark ? SPACE : byte)
      if (opens !== undefined) return opens
    }
    return undefined
  }

  /** Reads the body. True: the candidate is given up or closed; false: it waits for more bytes. */
  #walk(limit: number): boolean {
    const tape = this.#tape
    const interruptions = this.#interruptions
    for (;;) {
      const seek = this.#seek
      const tornLimit = this.#torn ? tape.positionOf(tape.origin(this.#from) + MAX_BROKEN) : limit
      const tag = interruptions.nextTag(seek)
      const fence = interruptions.nextFence(seek)
      const stop = Math.min(limit, tornLimit, interruptions.known(), tag, fence.at)
      if (this.#walkTo(stop)) return true
      if (this.#seek < stop) continue // A string is torn: the limits have changed.
      if (stop === limit) return this.#outgrow(limit)
      if (stop === tornLimit) return this.#endEarlier(this.#seek) || this.#leave(this.#seek)
      if (stop === fence.at) return fence.decided && (this.#endEarlier(stop) || this.#leave(stop))
      if (stop !== tag) return false
      if (!this.#balance.inString || this.#torn) return this.#endEarlier(stop) || this.#leave(stop)
      this.#seek = stop + 1
    }
  }

  /** Walks to `stop`, or past the line break in a string. True if it is given up or closed. */
  #walkTo(stop: number): boolean {
    const { view, base } = this.#tape
    const balance = this.#balance
    while (this.#seek < stop) {
      this.#seek = balance.walk(view, base, this.#seek, stop, this.#from, this.#torn)
      switch (balance.stop) {
        case 'end':
          return false
        case 'line-end':
          this.#torn = true
          return false
        case 'bracket':
          if (this.#interruptions.lines && this.#scan.head.bare(this.#seek)) return this.#leave(this.#seek)
          this.#seek++
          break
        case 'closed':
          if (this.#torn && this.#endEarlier(this.#seek)) return true
          this.#to = this.#seek
          this.#stage = 'behind'
          this.#follows.begin(this.#to, this.#place)
          return true
        default:
          return balance.stop satisfies never
      }
    }
    return false
  }

  //  {"size": "24" wide", "n": 1}⏎⏎Done.
  //                     ^ a string that never ends
  //                             ^ its end
  /** Cuts an object that does not close before `bound`, or only there, where the next layer finds its end. */
  #endEarlier(bound: number): boolean {
    const from = this.#from
    if (bound - from > MAX_BROKEN || this.#reread > MAX_REREAD) return false
    const lines = withoutQuotes(this.#tape, from, bound, { quotes: this.#quotes, indent: 0 })
    const text = this.#scan.decodeLines(lines, true)
    // What is not UTF-8 has another length in the text.
    const end = text.includes('\ufffd') ? -1 : this.#endOfBroken(text)
    if (end >= 0 || this.#balance.depth > 0) this.#reread += bound - from
    if (end < 0) return false
    const before = text.slice(0, end).split('\n')
    const lastLine = lines[2 * (before.length - 1)]!
    this.#emit(lastLine + Bytes.byteLength(before.at(-1)!), false, undefined, this.#isPiece())
    return true
  }

  #leave(position: number): true {
    this.#scan.leave(position)
    return true
  }

  #outgrow(limit: number): true {
    const scan = this.#scan
    const at = this.#tape.origin(this.#from)
    scan.cutTextBefore(this.#from)
    scan.cutText(at, at + scan.maxFrame, limit, objectTooLong(at, scan.maxFrame))
    return this.#leave(limit)
  }

  #cut(broken: number): void {
    const to = this.#to
    const isOver = broken < 0
    // All that is sure to have arrived.
    const after = isOver ? this.#follows.seen() : this.#behind(broken + 1 - to)
    const aside = isAside(this.#scan, this.#from, to, after, this.#first)
    this.#emit(to, false, isOver ? undefined : broken, aside || this.#isPiece())
    // In open members, what is broken ends where they do.
    if (!isOver && !aside && !this.#bare && !this.#scan.members?.has(this.#from)) this.#passBrokenRest(to)
  }

  //  user = {"name": "Ada"}⏎port = 2⏎
  //                        ^ #to    ^ one of several settings
  #awaitsNextLine(bound: number, over: boolean): boolean {
    if (over || !this.#scan.head.isAssigned(this.#from)) return false
    return bound < this.#to + MAX_SETTING && !/\n.*\n/.test(this.#behind(MAX_SETTING))
  }

  /** The first bytes behind it, as Latin-1. */
  #behind(size: number): string {
    const { view, base, end } = this.#tape
    const bound = Math.min(end, this.#scan.limit(this.#from), this.#to + size)
    return view.toString('latin1', this.#to - base, bound - base)
  }

  /** Whether it is a piece of something larger that is not JSON. After a word nothing has to be decoded. */
  #isPiece(size = 3): boolean {
    const scan = this.#scan
    const from = this.#from
    if (scan.members?.has(from)) return true
    const endsTag = this.#stage === 'behind' && scan.byte(this.#to) === GREATER
    if (this.#first || !(scan.byte(from) === OPEN_BRACKET || endsTag || scan.head.mayBeInside(from)))
      return false
    // In quotes, all of it may be a string of code with others joined to it.
    const isText = this.#stage === 'behind' && scan.head.quoted(from)
    const end = isText ? Math.min(this.#to, from + MAX_JOINED) : from + size
    const text = scan.decodeClean(from, Math.min(end, this.#tape.end))
    if (this.#stage !== 'behind') return isPiece(scan.head.before(from), text)
    const after = scan.head.isAssigned(from) ? this.#behind(MAX_SETTING) : this.#follows.seen()
    return isPiece(scan.head.before(from), text, after)
  }

  /** One object literal for every frame: several shapes, or a spread, cost more than all else here. */
  #emit(to: number, open: boolean, broken: number | undefined, aside = false): void {
    const from = this.#from
    const first = this.#first
    const attached = this.#attached
    const quotes = this.#quotes
    const lines = quotes > 0 ? withoutQuotes(this.#tape, from, to, { quotes, indent: 0 }) : undefined
    const text = lines ? this.#scan.decodeLines(lines, false) : this.#scan.decode(from, to)
    this.#scan.cut({
      kind: 'object',
      from,
      to,
      text,
      textFrom: from,
      textTo: to,
      lines,
      open,
      first,
      attached,
      aside,
      broken,
    })
  }
}
