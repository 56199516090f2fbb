import { Bytes } from '../base/platform.ts'
import { ByteSearch, NOWHERE } from '../text/byte-search.ts'
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
export function thinkMachine(scan: Scan, { names, patient, closed }: ThinkOptions): ThinkMachine {
  const { tape } = scan
  const kinds = names.map(
    (name): Kind => ({ name, opener: Bytes.from(`<${name}>`), closer: new ByteSearch(tape, `</${name}>`) }),
  )
  // One search for openers that begin alike, of no more than six bytes, because longer ones are slower.
  const beginnings = new Set(names.map((name) => `<${name}>`.slice(0, 6)))
  const openers = [...beginnings].map((beginning) => new ByteSearch(tape, beginning))
  let from = 0
  let kind = kinds[0] as Kind
  /** Whether the opener is the first thing on its line. */
  let leading = true

  /** Which opener is at a hit of a search; `none`, or `open` if not known yet. */
  function kindAt(position: number): Kind | 'none' | 'open' {
    const rest = tape.view.subarray(position - tape.base)
    let found: 'none' | 'open' = 'none'
    for (const candidate of kinds) {
      const { opener } = candidate
      const length = Math.min(rest.length, opener.length)
      if (rest.compare(opener, 0, length, 0, length) !== 0) continue
      if (length === opener.length) return candidate
      if (!scan.ended) found = 'open'
    }
    return found
  }

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
    scan.leave(from + kind.opener.length)
  }

  function midLineLimit(): number {
    return tape.positionOf(tape.origin(from) + MAX_MID_LINE)
  }

  function nextOf(opener: ByteSearch, start: number): number {
    for (let at = opener.next(start); at !== NOWHERE; at = opener.next(at + 1)) {
      const found = kindAt(at)
      if (found === 'open') return NOWHERE
      if (found !== 'none') return at
    }
    return NOWHERE
  }

  return {
    next(start) {
      let next = NOWHERE
      for (const opener of openers) next = Math.min(next, nextOf(opener, start))
      return next
    },
    open(position) {
      const found = kindAt(position)
      if (typeof found === 'object') kind = found
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
  readonly opener: Bytes
  readonly closer: ByteSearch
}
