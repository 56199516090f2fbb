import type { Scan } from '../../frames/scan.ts'
import { BACKSLASH, QUOTE } from '../../json/characters.ts'

//  {"name": 1, name: 1, 'name': 1}
//    ^^^^^     ^^^^     ^^^^^^

/** Reads the name of a member, whatever the chunks and the quotes. One of it serves every member in turn. */
export class MemberName {
  /** How far it has come. */
  at = 0
  readonly #scan: Scan
  #from = 0
  #quoted = false

  constructor(scan: Scan) {
    this.#scan = scan
  }

  /** Begins at the first byte of a name, which may be its quote. */
  begin(from: number, quoted: boolean): void {
    this.at = quoted ? from + 1 : from
    this.#from = from
    this.#quoted = quoted
  }

  /** Goes on as far as there are bytes: true when the name has ended. */
  read(): boolean {
    const { view, base } = this.#scan.tape
    let i = this.at - base
    let ended = false
    while (i < view.length && !ended) {
      const byte = view[i] as number
      if (this.#quoted) {
        i += byte === BACKSLASH ? 2 : 1
        ended = byte === QUOTE
      } else if (WORD_ENDS.includes(byte)) ended = true
      else i++
    }
    this.at = i + base
    return ended
  }

  /** What was read; undefined for a name that is too long to be one that is asked for. */
  text(): string | undefined {
    return this.#isLong() ? undefined : nameOf(this.#scan.decode(this.#from, this.at))
  }

  /** The first position that is still needed. */
  get keep(): number {
    return this.#isLong() ? this.at : this.#from
  }

  #isLong(): boolean {
    return this.at - this.#from > MAX_NAME
  }
}

/** Longer names are not read. */
const MAX_NAME = 4096
/** What a name without quotes cannot hold. */
const WORD_ENDS = Buffer.from(':,{}[]"<')

/** The name that a key spells, in whatever quotes. */
function nameOf(key: string): string {
  if (key[0] === '"' && key.includes('\\')) {
    try {
      return String(JSON.parse(key))
    } catch {
      return key.slice(1, -1)
    }
  }
  const word = key.trim()
  const quoted = word.length > 1 && (word[0] === '"' || word[0] === "'") && word.at(-1) === word[0]
  return quoted ? word.slice(1, -1) : word
}
