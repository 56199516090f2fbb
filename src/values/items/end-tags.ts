import type { Scan } from '../../frames/scan.ts'

/** The tags that end a document: the opener of the next one, or the closer of the block it stands in. */
export class EndTags {
  readonly opener: Buffer
  readonly closer: Buffer
  readonly #scan: Scan

  constructor(scan: Scan, name: string) {
    this.opener = Buffer.from(`<${name}>`)
    this.closer = Buffer.from(`</${name}>`)
    this.#scan = scan
  }

  /** Whether such a tag stands between a position and a bound; undefined if it may yet. */
  at(position: number, bound: number, inBlock: boolean): boolean | undefined {
    const begun = this.#begins(this.opener, position, bound)
    if (begun === true || !inBlock) return begun
    const closed = this.#begins(this.closer, position, bound)
    return closed === true || (closed === false && begun === false) ? closed : undefined
  }

  /** Where the closer stands, at or behind a position, in the bytes that are held; -1 for nowhere. */
  nextCloser(position: number): number {
    const { view, base } = this.#scan.tape
    const index = view.indexOf(this.closer, position - base)
    return index < 0 ? -1 : index + base
  }

  #begins(tag: Buffer, position: number, bound: number): boolean | undefined {
    const { tape, ended } = this.#scan
    const i = position - tape.base
    const length = Math.min(tag.length, bound - position)
    if (tape.view.compare(tag, 0, length, i, i + length) !== 0) return false
    if (length === tag.length) return true
    return ended && bound === tape.end ? false : undefined
  }
}
