import type { Bytes } from '../base/platform.ts'
import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
import { BACKTICK, isBlank, isBracket } from '../text/characters.ts'
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
  /** With `trailing`: only blanks are between the end of its line and here. */
  blankTo: number
}

/**
 * Finds the lines on which a fence of one kind of mark opens. Nothing is scanned twice. `trailing`: also one
 * at the end of a line of prose, if JSON follows it.
 */
export function openings(scan: Scan, marks: string, trailing = false) {
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
      if (opening && opening.at < from) opening = undefined
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
    if (candidate.trailing) return opensAfterProse(candidate, info, limit)
    return mark !== BACKTICK || !info.includes(BACKTICK)
  }

  //  Here it is: ```json
  //  {"a":1}
  //  ^ a bracket
  function opensAfterProse(candidate: Opening, info: Bytes, limit: number): boolean | undefined {
    if (info.length > 16 || !/^(?:json[5c]?)?\s*$/i.test(info.toString('latin1'))) return false
    let at = Math.max(candidate.blankTo, candidate.lineEnd)
    while (at < Math.min(limit, tape.end) && isBlank(scan.byte(at))) at++
    candidate.blankTo = at
    if (at < tape.end || scan.ended) return at < limit && isBracket(scan.byte(at))
    return at >= limit ? false : undefined
  }

  /** The opening that `next` has just decided on. */
  function at(from: number): Opening {
    next(from)
    return opening as Opening
  }

  return { search, next, at }
}

const nothing: FenceHit = { at: NOWHERE, decided: true }
