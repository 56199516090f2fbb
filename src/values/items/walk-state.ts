import type { Scan } from '../../frames/scan.ts'
import { QUOTE } from '../../json/characters.ts'
import { stringEnd, tokenEnd } from './byte-class.ts'
import { OpenBrackets } from './open-brackets.ts'

/**
 * Where a walk stands: it waits for bytes, its value has ended, a tag has ended the document, or (only if it
 * was told to be strict) this is no JSON.
 */
export type Walked = 'wait' | 'end' | 'tag' | 'odd'

/** How a walk is to go. */
export interface WalkRules {
  /** Whether a tag that ends the document stands between a position and a bound; undefined if it may yet. */
  readonly tagAt: (position: number, bound: number) => boolean | undefined
  /** Stop at the first byte that JSON does not allow. */
  readonly strict: boolean
  /** The value stands in an array, not in an object. */
  readonly inArray: boolean
  /** What the value begins with, and its neighbours too: a place to go on from when it is broken. */
  readonly head: (() => Buffer | undefined) | undefined
}

export type Mode = 'scalar' | 'tokens' | 'brackets' | 'quotes'
export type Expects = 'first value' | 'value' | 'first key' | 'key' | 'colon' | 'comma'

/** How far a walk has come: what its four modes share. One of it serves every value in turn. */
export class WalkState {
  /** How far it has come; when it has ended, where to go on. */
  at = 0
  /** One past the value, when it has ended. */
  to = 0
  /** The comma behind the value has been passed, too. */
  passedComma = false
  /** Something was not as JSON wants it. */
  odd = false
  readonly scan: Scan
  readonly brackets = new OpenBrackets()
  rules: WalkRules = NO_RULES
  mode: Mode = 'scalar'
  expects: Expects = 'value'
  inString = false
  inToken = false
  /** Where the string begins that is under way, or was the last token; -1 for none. */
  string = -1
  /** The last comma. */
  comma = -1
  /** The last byte that was no blank; only kept up to date where quotes are not believed. */
  last = 0
  /** What was seen last, where quotes alone are looked at. */
  quoted: 'text' | 'quote' | 'comma' = 'text'

  constructor(scan: Scan) {
    this.scan = scan
  }

  begin(from: number, rules: WalkRules): void {
    this.at = from
    this.to = from
    this.passedComma = false
    this.odd = false
    this.rules = rules
    this.mode = 'scalar'
    this.expects = 'value'
    this.brackets.depth = 0
    this.inString = false
    this.inToken = false
    this.string = -1
    this.comma = -1
  }

  endAt(to: number, next: number, passedComma = false): 'end' {
    this.to = to
    this.at = next
    this.passedComma = passedComma
    return 'end'
  }

  waitAt(position: number): 'wait' {
    this.at = position
    return 'wait'
  }

  /** Finishes the string or token that the last chunk broke off; answers where to go on in the view. */
  resume(end: number): number {
    const { view, base } = this.scan.tape
    let i = this.at - base
    if (this.inString) {
      i = stringEnd(view, i, end)
      if (i >= end) return i
      this.inString = false
      this.to = ++i + base
    } else if (this.inToken) {
      i = tokenEnd(view, i, end)
      this.inToken = i >= end
      this.to = i + base
    }
    return i
  }

  /** Something is not JSON: true if the walk is over then. */
  notJson(): boolean {
    this.odd = true
    return this.rules.strict
  }

  /** Whether the last string is still there to be read anew. */
  isStringKept(): boolean {
    return this.string >= 0 && this.at - this.string <= this.scan.maxFrame
  }

  /** Leaves quotes unbelieved, and goes back to the string that was none, unless it was too long to be kept. */
  readAgain(mode: 'brackets' | 'quotes'): void {
    this.mode = mode
    this.quoted = 'text'
    if (this.isStringKept()) this.at = this.string + 1
    this.string = -1
    this.last = QUOTE
  }
}

const NO_RULES: WalkRules = { tagAt: () => false, strict: false, inArray: true, head: undefined }
