import { payloadCodes } from '../base/fault.ts'
import { NOWHERE } from '../text/byte-search.ts'
import { BACKTICK, CR, isBlank, isBracket, LF, NUL } from '../text/characters.ts'
import { type Mark, MarkSearch, markTable } from './mark-search.ts'
import type { Inside, Scan } from './scan.ts'
import type { Dialect } from './thought-dialects.ts'
import { THOUGHT, tooLong } from './too-long.ts'

/** A mark in prose that opens a thought, or closes one whose opener was in the prompt. */
export interface ThoughtMark extends Mark {
  readonly thought?: Dialect
  readonly lone?: true
}

/** A log that has no `[THINK]` in its first MiB is not of a model that writes it. */
export const MARKS_WITHIN = 1 << 20

/** The marks of thoughts that may come in prose. */
export function thoughtMarks(dialects: readonly Dialect[]): ThoughtMark[] {
  return dialects.flatMap((thought) => {
    const opener: ThoughtMark = { ...thought.opener, thought }
    return thought.lone ? [opener, { ...thought.closers[0]!, lone: true }] : [opener]
  })
}

/** `<think>` and its like: the content of a closed block is text, whatever it looks like. */
export interface ThinkMachine {
  /** Enters the thought whose opener is from `at` to `to`. */
  open(at: number, to: number, dialect: Dialect): void
  /** A closer without an opener: what is before it is a thought, if something follows. */
  closeLone(at: number, to: number): void
}

interface ThinkOptions {
  /** The answer is decided at the end of the input: a thought hides its content however long it is. */
  readonly patient: boolean
  /** Called with the range of each closed block. */
  readonly closed: (from: number, to: number) => void
}

/**
 *     <think> draft: <json>{"a":0}</json> </think> <json>{"a":1}</json>
 *     ^ from                              ^ closer
 *
 * An opener in mid-line may only mention the tag. A reader that cannot wait for the end of the input waits
 * 64 KiB for its closer, and then reads it as prose. Each closer is a search that keeps its next hit, so a
 * thousand openers before one closer search for it once.
 */
export function thinkMachine(scan: Scan, { patient, closed }: ThinkOptions): ThinkMachine {
  const { tape } = scan
  const searches = new Map<Dialect, MarkSearch<Mark>>()
  let from = 0
  /** One past the opener. */
  let inside = 0
  let dialect: Dialect
  let closer: MarkSearch<Mark>
  /** Whether the opener is the first thing on its line. */
  let leading = true
  /** A thought was opened, or a lone closer came: a closer without an opener is a word from now on. */
  let seen = false

  const think: Inside = {
    keep() {
      return from
    },
    look() {
      const limit = leading || patient ? scan.limit(from) : Math.min(scan.limit(from), midLineLimit())
      const end = endAfter(inside)
      if (end !== NOWHERE && closer.to <= limit) {
        scan.leave(end)
        closed(from, end)
        return true
      }
      // The bytes after a closer that ends at the limit say whether it is only named.
      if (tape.end < limit || closer.partial() < limit) return false
      if (!leading && !patient) {
        scan.openThought(dialect.name, new MarkSearch(scan, markTable(dialect.closers)), inside)
        scan.leave(inside)
        return true
      }
      scan.enter(
        tooLong(scan, THOUGHT, from, (seek) => {
          const end = endAfter(Math.max(seek, inside))
          if (end === NOWHERE) return { done: false, at: Math.max(seek, tape.end - closer.longest - 1) }
          closed(from, end)
          return { done: true, at: end }
        }),
      )
      return true
    },
    finish() {
      scan.unclosedThink = true
      scan.leave(inside)
    },
  }

  /** Where the thought ends; NOWHERE if its closer has not arrived. */
  function endAfter(position: number): number {
    const at = closer.next(position)
    return at === NOWHERE || closer.mark?.excluded ? at : closer.to
  }

  function midLineLimit(): number {
    return tape.positionOf(tape.origin(from) + MAX_MID_LINE)
  }

  return {
    open(at, to, opened) {
      seen = true
      dialect = opened
      closer = searches.get(opened) ?? new MarkSearch(scan, markTable(opened.closers))
      searches.set(opened, closer)
      from = at
      inside = to
      leading = scan.head.blank(at)
      scan.enter(think)
    },
    closeLone(at, to) {
      if (seen || scan.proseFence) {
        scan.leave(to)
        return
      }
      const sure = scan.head.blank(at) || !isBlank(scan.head.byteBefore(at))
      const count = () => {
        seen = true
        scan.enter(loneCloser(scan, at, to, closed))
      }
      if (sure) count()
      else scan.enter(mentionOrCloser(scan, at, to, count))
    },
  }
}

//  {"a":0} </think>{"a":1}     {"a":0} </think>⏎{"a":1}     {"a":0}, not a </think> or so
//                  ^ a value                   ^ its line ends     a mention       ^
/** Waits for the byte behind a closer that follows a blank: it may only be mentioned. */
function mentionOrCloser(scan: Scan, from: number, to: number, count: () => void): Inside {
  return {
    keep: () => from,
    look() {
      const next = scan.byte(to)
      if (next === undefined) return false
      if (next === LF || next === CR || next === BACKTICK || isBracket(next)) count()
      else scan.leave(to)
      return true
    },
    finish: () => scan.leave(to),
  }
}

//  Maybe {"a":0}.⏎</think>⏎⏎{"a":1}
//                 ^ from    ^ something follows: the rest was a thought
/** Waits for what follows a closer without an opener. */
function loneCloser(scan: Scan, from: number, to: number, closed: ThinkOptions['closed']): Inside {
  const { tape } = scan
  return {
    keep: () => from,
    look() {
      const limit = scan.limit(from)
      const end = Math.min(tape.end, limit)
      let next = to
      while (next < end && (isBlank(scan.byte(next)) || scan.byte(next) === NUL)) next++
      if (next >= end && end < limit) return false
      if (next < end) {
        const at = tape.origin(from)
        scan.cutTextBefore(from)
        const note = { code: 'THINK_LATE', message: payloadCodes.THINK_LATE, at } as const
        scan.cutText(at, tape.origin(to - 1) + 1, to, note)
        closed(from, to)
      }
      scan.leave(to)
      return true
    },
    finish: () => scan.leave(to),
  }
}

/** How long a reader that cannot wait for the end of the input waits for the end of a thought. */
const MAX_MID_LINE = 65_536
