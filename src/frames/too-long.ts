import type { Note } from '../base/fault.ts'
import type { Inside, Scan } from './scan.ts'

/**
 * Handles a frame that grew past `maxFrame`: its bytes are passed on as text, in pieces of `maxFrame` from
 * its start, until `findEnd` says where prose continues. The first piece carries the note.
 */
export function tooLong(
  scan: Scan,
  what: string,
  from: number,
  findEnd: (from: number) => SearchState,
): Inside {
  const { tape, maxFrame } = scan
  let piece = tape.origin(from)
  let seek = from
  let note: Note | undefined = tooLongNote(`a ${what}`, piece, maxFrame)
  if (what !== THOUGHT) lost.set(note, 'block')

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
      // Keep the byte before `seek`: its original offset is known only while it is in the buffer, and an
      // escape sequence after it may belong to the prose that follows.
      return Math.max(from, Math.min(seek, tape.end) - 1)
    },
    look() {
      const found = findEnd(seek)
      // A search may look back further, to judge a line by its start; what was passed on stays so.
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

/** The note about an object that grew past `maxFrame`. */
export function objectTooLong(at: number, maxFrame: number): Note {
  const note = tooLongNote('an object', at, maxFrame)
  lost.set(note, 'object')
  return note
}

/** What a note says is kept as text and may have been the payload: a think block never is. */
export function lostPayload(note: Note): 'object' | 'block' | undefined {
  return lost.get(note)
}

export const THOUGHT = 'think block'

/** Beside the notes, because those are printed: only what looks for payloads asks. */
const lost = new WeakMap<Note, 'object' | 'block'>()

function tooLongNote(what: string, at: number, maxFrame: number): Note {
  const message = `${what} at byte ${at} is longer than maxFrame (${maxFrame} bytes); it is kept as text`
  return { code: 'FRAME_TOO_LONG', message, at }
}

/** State of the search: done, prose continues at `at`; not done, nothing before `at` is needed any more. */
export interface SearchState {
  readonly done: boolean
  readonly at: number
}
