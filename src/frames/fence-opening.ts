import type { Bytes } from '../base/platform.ts'
import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
import { BACKTICK, isBlank, isBracket, OPEN_BRACE, QUOTE } from '../text/characters.ts'
import { AT_COLUMN_0, type Container } from './line-head.ts'
import type { Scan } from './scan.ts'

/** Position of a fence line; not `decided` while its line is incomplete. */
export interface FenceHit {
  readonly at: number
  readonly decided: boolean
  /** It closes the fence that is read as prose. */
  readonly closes?: true
}

interface Opening {
  readonly at: number
  readonly mark: number
  readonly container: Container
  /** Prose precedes it on its line. */
  readonly trailing: boolean
  runEnd: number
  lineEnd: number
  /** Only blanks are between what was judged and here. */
  blankTo: number
  /** The bracket on its line that begins the body; -1 if the body begins on the next line. */
  brace: number
  /** It is a fence only if its closer follows the value that begins on its line. */
  odd: boolean
}

/** Which openers count beside those of CommonMark. */
interface OddOpeners {
  /** One at the end of a line of prose, if JSON follows it. */
  readonly trailing?: boolean
  /** One that is glued to its value. */
  readonly glued?: (() => boolean) | undefined
}

/** Finds the lines on which a fence of one kind of mark opens. Nothing is scanned twice. */
export function openings(scan: Scan, marks: string, { trailing = false, glued }: OddOpeners = {}) {
  const { tape } = scan
  const search = new ByteSearch(tape, marks)
  const lf = new ByteSearch(tape, '\n')
  const mark = marks.charCodeAt(0)
  if (trailing) scan.head.seesBackticks = true
  let opening: Opening | undefined
  let decided = false
  /** Marks before this position open nothing. */
  let passed = 0

  function next(from: number): FenceHit {
    for (;;) {
      if (opening && (opening.at < from || (opening.odd && !glued?.()))) opening = undefined
      if (!opening) {
        const at = search.next(Math.max(from, passed))
        if (at === NOWHERE) return nothing
        const container = scan.head.container(at)
        // After a quote it is part of a string; after a backtick on its line it ends a piece of inline code.
        if (!container && (!trailing || scan.head.quoted(at) || scan.head.hasBacktick(at))) {
          passed = at + 1
          continue
        }
        opening = {
          at,
          mark,
          container: container ?? AT_COLUMN_0,
          trailing: !container,
          runEnd: at,
          lineEnd: NOWHERE,
          blankTo: at,
          brace: -1,
          odd: false,
        }
        decided = false
      }
      if (decided) return { at: opening.at, decided }
      const opens = judge(opening)
      if (opens !== false) {
        decided = opens === true
        return { at: opening.at, decided }
      }
      passed = opening.runEnd
      opening = undefined
    }
  }

  /** Whether the marks open a fence; undefined while their line is incomplete. */
  function judge(candidate: Opening): boolean | undefined {
    while (scan.byte(candidate.runEnd) === mark) candidate.runEnd++
    const limit = scan.limit(candidate.at)
    const end = lf.next(candidate.runEnd)
    if (end === NOWHERE && !scan.ended) return tape.end >= limit ? false : undefined
    candidate.lineEnd = Math.min(end, tape.end)
    if (candidate.lineEnd >= limit) return false
    const info = tape.view.subarray(candidate.runEnd - tape.base, candidate.lineEnd - tape.base)
    const isLine = !candidate.trailing && (mark !== BACKTICK || !info.includes(BACKTICK))
    const begun = beforeBrace.exec(info.subarray(0, MAX_LABEL).toString('latin1'))
    if (glued && begun) {
      candidate.brace = candidate.runEnd + begun[0].length
      candidate.odd = !isLine || begun[1] === undefined
      if (!candidate.odd) return true
      const opens = glued() && beginsValue(scan, candidate, limit)
      if (opens !== false) return opens
      candidate.brace = -1
      candidate.odd = false
    }
    return candidate.trailing ? opensAfterProse(scan, candidate, info, limit) : isLine
  }

  /** The opening that `next` has just decided on. */
  function at(from: number): Opening {
    next(from)
    return opening as Opening
  }

  return { search, next, at }
}

//  Here it is: ```json
//  {"a":1}
//  ^ a bracket
function opensAfterProse(scan: Scan, candidate: Opening, info: Bytes, limit: number): boolean | undefined {
  if (info.length > MAX_LABEL || !/^(?:json[5c]?)?\s*$/i.test(info.toString('latin1'))) return false
  const next = pastBlanks(scan, candidate, candidate.lineEnd, limit)
  return next === undefined ? undefined : next < limit && isBracket(scan.byte(next))
}

//  ```{              ```{"a":1}```      ```{.python}
//     ^⏎"a":1⏎}```      ^ a value          ^ no value
/** Whether the bracket on the line of the marks is before a key or a value in quotes or brackets. */
function beginsValue(scan: Scan, candidate: Opening, limit: number): boolean | undefined {
  const next = pastBlanks(scan, candidate, candidate.brace + 1, limit)
  if (next === undefined) return undefined
  const byte = scan.byte(next)
  if (next >= limit || byte === undefined) return false
  return byte === QUOTE || (scan.byte(candidate.brace) !== OPEN_BRACE && isBracket(byte))
}

/** The first position at or after `from` that is not blank; the end of all there is if none follows. */
function pastBlanks(scan: Scan, candidate: Opening, from: number, limit: number): number | undefined {
  const { tape } = scan
  let at = Math.max(candidate.blankTo, from)
  while (at < Math.min(limit, tape.end) && isBlank(scan.byte(at))) at++
  candidate.blankTo = at
  return at < tape.end || scan.ended || at >= limit ? at : undefined
}

/** A label of JSON, or none, and blanks before a bracket. */
const beforeBrace = /^(json[5c]?)?[ \t]*(?=[{[])/i
const MAX_LABEL = 16
const nothing: FenceHit = { at: NOWHERE, decided: true }
