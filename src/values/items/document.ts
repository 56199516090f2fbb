import type { gate } from '../../frames/gate.ts'
import type { Scan } from '../../frames/scan.ts'
import type { Level } from './item-paths.ts'

/** Before the first bracket of a document is sure. */
type OpeningStage = 'gate' | 'before'
/** Inside its containers. */
export type ContainerStage = 'value' | 'key' | 'in key' | 'colon' | 'comma' | 'walk'
export type Stage = OpeningStage | ContainerStage

/** What a step comes to: there is more to do, more bytes are needed, or the document has been left. */
export type Step = 'on' | 'wait' | 'left'

/** How a document began. */
export interface Beginning {
  readonly from: number
  /** Where that was in the original: the bytes themselves are let go. */
  readonly origin: number
  /** Where to go on: behind the tag of a block, or behind the bracket. */
  readonly at: number
  readonly block: boolean
  /** What a bare bracket must pass before it counts as one. */
  readonly judge: ReturnType<typeof gate> | undefined
  readonly why: string | undefined
}

/** All that is known of the document under way. Made anew for each. */
export class DocumentState {
  readonly from: number
  readonly origin: number
  readonly block: boolean
  readonly judge: ReturnType<typeof gate> | undefined
  why: string | undefined
  stage: Stage
  at: number
  readonly levels: Level[] = []
  /** The array that was closed just now, in case its bracket was one too many. */
  closed: Level | undefined = undefined
  /** The place of the items has been found: from here on nothing is taken for prose any more. */
  found = false
  /** Whether it is one beyond doubt: in a tag, or the first thing of the input. */
  readonly sure: boolean
  /** Something before the next element was not JSON. */
  odd = false
  /** The name of the member at hand, if it was read. */
  name: string | undefined = undefined

  constructor({ from, origin, at, block, judge, why }: Beginning) {
    this.from = from
    this.origin = origin
    this.at = at
    this.block = block
    this.judge = judge
    this.why = why
    this.stage = block ? 'before' : 'gate'
    this.sure = block || why === undefined
  }

  /** Nothing but its brackets says that this is a document. */
  isDoubtful(): boolean {
    return !this.sure && !this.found
  }

  /** Something is not JSON: true if it is prose then. */
  notJson(): boolean {
    this.odd = true
    return this.isDoubtful()
  }

  /** How the document needed help up to here. */
  whyNow(): string | undefined {
    return this.why ?? (this.odd ? 'passed over what is not JSON' : undefined)
  }
}

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
