import { Needle, NOWHERE } from '../../frames/needle.ts'
import type { Scan } from '../../frames/scan.ts'
import { thinkMachine } from '../../frames/think.ts'
import { bomAt, isBlank, LESS, NUL, OPEN_BRACE, OPEN_BRACKET } from '../../json/characters.ts'
import type { DocumentMachine } from './document.ts'

export interface SeekOptions {
  /** Only blocks of this tag; undefined for `<json>` blocks and bare documents. */
  readonly tag: string | undefined
  /** Objects with bare or single-quoted keys open in prose, too. */
  readonly loose: boolean
}

export interface Seek {
  /** Finds the next document and hands over to its machine. False: it waits for more bytes. */
  look(): boolean
  /** Whether nothing but blanks has been seen. */
  blank(): boolean
}

/**
 * The outside of documents: finds where the next one begins. Think blocks hide what is in them; fences hide
 * nothing, so a document in one is found by its bracket.
 */
export function seek(scan: Scan, machine: DocumentMachine, options: SeekOptions): Seek {
  const { tape } = scan
  const bare = options.tag === undefined
  const opener = new Needle(tape, `<${options.tag ?? 'json'}>`)
  const brace = new Needle(tape, '{')
  const bracket = new Needle(tape, '[')
  const think = thinkMachine(scan, (from, to) => {
    if (from === firstThink) firstFrom = to
  })
  const longestOpener = Math.max(opener.length, '<thinking>'.length)
  let blank = true
  /** Where the first byte of the input that matters is looked for; NOWHERE when that is over. */
  let firstFrom = 0
  /** A think block at the very start: the document may begin behind it. */
  let firstThink = -1

  function look(): boolean {
    if (firstFrom !== NOWHERE && !findFirst()) return false
    if (scan.inside) return true
    const from = scan.position
    const tag = opener.next(from)
    const thinking = think.next(from)
    const bracketAt = bare ? Math.min(brace.next(from), bracket.next(from)) : NOWHERE
    const at = Math.min(tag, thinking, bracketAt)
    if (at === NOWHERE) {
      scan.position = Math.max(from, tape.end - longestOpener + 1)
      return false
    }
    scan.position = at
    if (at === tag) machine.openBlock(at)
    else if (at === thinking) think.open(at)
    else machine.openBare(at, options.loose ? 'loose' : 'strict', 'took an object from prose')
    return true
  }

  /** Looks for the first byte that is not blank. False: it has not come yet. */
  function findFirst(): boolean {
    for (; firstFrom < tape.end; firstFrom++) {
      const byte = scan.byte(firstFrom)
      if (byte === NUL || isBlank(byte)) continue
      if (bomAt(tape.view, firstFrom - tape.base) === 3) {
        firstFrom += 2
        continue
      }
      if (byte === 0xef && firstFrom + 3 > tape.end && !scan.ended) break
      openFirst(firstFrom, byte)
      firstFrom = NOWHERE
      return true
    }
    scan.position = Math.min(firstFrom, tape.end)
    return false
  }

  function openFirst(at: number, byte: number | undefined): void {
    if (byte === LESS) firstThink = at
    else if (bare && (byte === OPEN_BRACE || byte === OPEN_BRACKET)) {
      machine.openBare(at, 'document', blank ? undefined : 'dropped a think block')
    }
    blank = false
  }

  return {
    look,
    blank() {
      return blank
    },
  }
}
