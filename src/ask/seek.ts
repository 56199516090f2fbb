import type { SnapshotOptions } from './snapshots.ts'

/** Looks for the first character of a payload in growing text. */
export interface Seeker {
  /** Takes the next piece; gives the text to work on, which may start with a mark that was cut before. */
  take(piece: string): string
  /** The index of a character in it that may open a payload, at `at` or later, or -1. */
  from(at: number): number
}

const THINK = '<think'
const THOUGHT = '</think'

/**
 * A payload opens with a brace (or a bracket, where the root may be any), outside of think blocks, and
 * after the tag if there is one. Of each piece only the cut start of a mark is carried to the next.
 */
export function seeker({ tag, root = 'object' }: SnapshotOptions): Seeker {
  const opener = tag === undefined ? '' : `<${tag}>`
  let text = ''
  /** The cut start of a mark at the end of the piece before. */
  let cut = ''
  let inThink = false
  let inTag = tag === undefined
  // The next of each, from where we are; looked for again only when it has been passed.
  const brace = finder('{')
  const bracket = finder('[')
  const angle = finder('<')

  /** Whether the text ends in the middle of this mark, which starts at `at`; then that is kept. */
  function isCut(at: number, mark: string): boolean {
    const rest = text.length - at
    if (rest >= mark.length || !mark.startsWith(text.slice(at))) return false
    cut = text.slice(at)
    return true
  }

  return {
    take(piece) {
      text = cut + piece
      cut = ''
      for (const find of [brace, bracket, angle]) find.reset(text)
      return text
    },
    from(start) {
      for (let at = start; ; ) {
        if (inThink) {
          const end = text.indexOf(THOUGHT, at)
          if (end < 0) {
            isCut(Math.max(text.lastIndexOf('<'), at), THOUGHT)
            return -1
          }
          inThink = false
          at = end + THOUGHT.length
        }
        const mark = angle.next(at)
        const opens = inTag ? least(brace.next(at), root === 'any' ? bracket.next(at) : -1) : -1
        if (opens >= 0 && (mark < 0 || opens < mark)) {
          if (mayOpen(text, opens)) return opens
          at = opens + 1
          continue
        }
        if (mark < 0) return -1
        at = mark + 1
        if (text.startsWith(THINK, mark)) inThink = true
        else if (!inTag && text.startsWith(opener, mark)) inTag = true
        else if (isCut(mark, THINK) || (!inTag && isCut(mark, opener))) return -1
      }
    },
  }
}

/** What follows a brace in prose (`{cmd}`) mostly cannot follow one in JSON: one look saves a parser. */
function mayOpen(text: string, at: number): boolean {
  return text[at] !== '{' || at + 1 === text.length || ' \t\r\n"}'.includes(text[at + 1]!)
}

function finder(needle: string): { reset(text: string): void; next(at: number): number } {
  let text = ''
  let found = -1
  return {
    reset(piece) {
      text = piece
      found = text.indexOf(needle)
    },
    next(at) {
      if (found >= 0 && found < at) found = text.indexOf(needle, at)
      return found
    },
  }
}

const least = (a: number, b: number): number => (a < 0 ? b : b < 0 ? a : Math.min(a, b))
