import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
import { OpenerSearch } from './opener-search.ts'
import type { Inside, Scan } from './scan.ts'
import { tooLong } from './too-long.ts'

const NAMES: readonly string[] = ['think', 'thinking', 'reasoning', 'scratchpad']

/** The names of the tags around thoughts. What is looked for as a payload is no thought. */
export function thinkNames(think: boolean | readonly string[], tags: readonly string[]): readonly string[] {
  const names = typeof think === 'boolean' ? (think ? NAMES : []) : think
  return names.filter((name) => !tags.includes(name))
}

/** `<think>` and its like: the content of a closed block is text, whatever it looks like. */
export interface ThinkMachine {
  /** The next opener at or after `from`; NOWHERE if there is none. */
  next(from: number): number
  open(from: number): void
}

interface ThinkOptions {
  readonly names: readonly string[]
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
export function thinkMachine(
  scan: Scan,
  { names, patient, closed }: ThinkOptions,
  openers = new OpenerSearch(scan, names),
): ThinkMachine {
  const { tape } = scan
  const kinds = names.map((name): Kind => ({ name, closer: new ByteSearch(tape, `</${name}>`) }))
  let from = 0
  let kind = kinds[0] as Kind
  /** Whether the opener is the first thing on its line. */
  let leading = true

  const think: Inside = {
    keep() {
      return from
    },
    look() {
      const limit = leading || patient ? scan.limit(from) : Math.min(scan.limit(from), midLineLimit())
      const { closer } = kind
      const close = closer.next(from)
      if (close + closer.length <= limit) {
        scan.leave(close + closer.length)
        closed(from, scan.position)
        return true
      }
      if (tape.end < limit) return false
      if (!leading && !patient) {
        scan.openThought(`</${kind.name}>`, from)
        readAsProse()
        return true
      }
      scan.enter(
        tooLong(scan, 'think block', from, (seek) => {
          const end = closer.next(seek)
          if (end === NOWHERE) return { done: false, at: Math.max(seek, tape.end - closer.length + 1) }
          closed(from, end + closer.length)
          return { done: true, at: end + closer.length }
        }),
      )
      return true
    },
    finish() {
      scan.unclosedThink = true
      readAsProse()
    },
  }

  function readAsProse(): void {
    scan.leave(from + kind.name.length + 2)
  }

  function midLineLimit(): number {
    return tape.positionOf(tape.origin(from) + MAX_MID_LINE)
  }

  return {
    next: (start) => openers.next(start),
    open(position) {
      const name = openers.nameAt(position)
      kind = kinds.find((candidate) => candidate.name === name) ?? kind
      from = position
      leading = scan.head.blank(position)
      scan.enter(think)
    },
  }
}

/** How long a reader that cannot wait for the end of the input waits for the end of a thought. */
const MAX_MID_LINE = 65_536

interface Kind {
  readonly name: string
  readonly closer: ByteSearch
}
