import type { Note } from '../base/fault.ts'
import type { Inside, Scan } from './scan.ts'

/**
 * What is left of a frame that outgrew `maxFrame`: its bytes are let go as text, in pieces of `maxFrame` from
 * where it began, until `findEnd` says where prose goes on. The first piece carries the note.
 */
export function tooLong(scan: Scan, what: string, from: number, findEnd: (from: number) => Found): Inside {
  const { tape, maxFrame } = scan
  let piece = tape.origin(from)
  let seek = from
  let note: Note | undefined = {
    code: 'FRAME_TOO_LONG',
    message: `a ${what} at byte ${piece} is longer than maxFrame (${maxFrame} bytes); it is kept as text`,
    at: piece,
  }

  function pieces(to: number, toPosition: number, whole: boolean): void {
    while (piece + maxFrame <= to || (whole && piece < to)) {
      const end = Math.min(to, piece + maxFrame)
      const position = end === to ? toPosition : Math.min(toPosition, tape.positionOf(end))
      scan.cutText(piece, end, position, note)
      note = undefined
      piece = end
    }
  }

  scan.cutTextBefore(from)
  return {
    keep() {
      // The byte before `seek` stays: where it stood is known only as long as it is here, and an escape sequence
      // behind it may belong to the prose that follows.
      return Math.max(from, Math.min(seek, tape.end) - 1)
    },
    look() {
      const found = findEnd(seek)
      // A search may look back further than before, to judge a line by its start; what was let go stays let go.
      seek = Math.max(seek, found.at)
      if (!found.done) {
        if (seek > from) pieces(tape.origin(seek - 1) + 1, seek, false)
        return false
      }
      pieces(tape.origin(seek - 1) + 1, seek, true)
      scan.leave(seek)
      return true
    },
    finish() {
      pieces(tape.originEnd, tape.end, true)
      scan.leave(tape.end)
    },
  }
}

/** Where the search stands: done, prose goes on at `at`; not done, nothing before `at` is needed any more. */
export interface Found {
  readonly done: boolean
  readonly at: number
}
