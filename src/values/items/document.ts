import { Bytes } from '../../base/platform.ts'
import type { FenceMachine } from '../../frames/fence.ts'
import type { bracketCheck } from '../../frames/opening-bracket.ts'
import type { Scan } from '../../frames/scan.ts'
import type { ChangeKind } from '../../repair/change.ts'
import type { Level } from './item-paths.ts'

/** Until the first bracket of a document is certain, and after its last one. */
type OpeningStage = 'opening' | 'before' | 'marks'
/** Inside its containers. */
export type ContainerStage = 'value' | 'key' | 'in key' | 'colon' | 'comma' | 'walk' | 'lost'
export type Stage = OpeningStage | ContainerStage

/** Result of a step: more to do, more bytes needed, the document has ended, or was given up. */
export type WalkStep = 'on' | 'wait' | 'over' | 'left'

/** How a document began. */
export interface Beginning {
  readonly from: number
  /** Offset of that in the original; the bytes themselves are not kept. */
  readonly origin: number
  /** Where to continue: after the tag of a block, or after the bracket. */
  readonly at: number
  /** Decides whether a bare bracket opens a document. */
  readonly judge: ReturnType<typeof bracketCheck> | undefined
  readonly why: ChangeKind | undefined
  readonly sure: boolean
}

/** State of the current document; new for each. */
export class DocumentState {
  readonly from: number
  readonly origin: number
  readonly judge: ReturnType<typeof bracketCheck> | undefined
  why: ChangeKind | undefined
  stage: Stage
  at: number
  readonly levels: Level[] = []
  /** The place of the items was found: from here on nothing is treated as prose. */
  found = false
  /** Whether it is certainly a document: in a tag, in a fence, or the first thing of the input. */
  readonly sure: boolean
  /** Indentation inside the lost element; -1 if unknown. */
  indent = -1
  /** The kind of the current comment between two tokens. */
  comment: 'line' | 'block' | undefined = undefined
  /** The fence marks that its block begins with; 0 for none. They may follow it, too. */
  marks = 0
  /** Something before the next element was not JSON. */
  odd = false
  /** The name of the current member, if it was read. */
  name: string | undefined = undefined

  constructor({ from, origin, at, judge, why, sure }: Beginning) {
    this.from = from
    this.origin = origin
    this.at = at
    this.judge = judge
    this.why = why
    this.stage = judge ? 'opening' : 'before'
    this.sure = sure
  }

  /** Only its brackets suggest that this is a document. */
  isDoubtful(): boolean {
    return !this.sure && !this.found
  }

  /** Something is not JSON: true if that makes it prose. */
  notJson(): boolean {
    this.odd = true
    return this.isDoubtful()
  }

  /** How the document needed repair up to here. */
  whyNow(): ChangeKind | undefined {
    return this.why ?? (this.odd ? 'skipped what is not JSON' : undefined)
  }
}

/**
 * What ends a document from outside, at any position: the opening tag of the next block, the closing tag of
 * its own block, or the closing line of its fence.
 */
export class DocumentEnd {
  /** The current document may be read up to here. */
  bound = 0
  /** No more bytes of it will arrive after the bound. */
  final = false
  /** Whether the current document is in a block of the tag. */
  block = false
  /** The current document is in a fence: tags are text there. */
  fenced = false
  /** The fence is closed at the bound. */
  closed = false
  readonly opener: Bytes
  readonly closer: Bytes
  readonly #scan: Scan
  readonly #fences: FenceMachine

  constructor(scan: Scan, tag: string, fences: FenceMachine) {
    this.#fences = fences
    this.opener = Bytes.from(`<${tag}>`)
    this.closer = Bytes.from(`</${tag}>`)
    this.#scan = scan
  }

  /** Takes the bytes into account that have arrived. */
  look(): void {
    const { tape, ended } = this.#scan
    const end = this.fenced ? this.#fences.proseEnd() : undefined
    this.bound = end?.at ?? tape.end
    this.closed = end?.closed === true
    this.final = ended || this.closed
  }

  /** Whether a closing tag is between a position and a bound; undefined without enough bytes. */
  tagAt(position: number, bound: number): boolean | undefined {
    if (this.fenced) return false
    const begun = this.#begins(this.opener, position, bound)
    if (begun === true || !this.block) return begun
    const closed = this.#begins(this.closer, position, bound)
    return closed === true || (closed === false && begun === false) ? closed : undefined
  }

  /** Position of the closing tag at or after `position`, in the bytes that are held; -1 for none. */
  nextCloser(position: number): number {
    const { view, base } = this.#scan.tape
    const index = view.indexOf(this.closer, position - base)
    return index < 0 ? -1 : index + base
  }

  /** Start of the first tag that ends the document, between two positions; -1 for none. */
  firstTag(from: number, to: number): number {
    if (this.fenced) return -1
    const { view, base } = this.#scan.tape
    const bytes = view.subarray(from - base, to - base)
    const opener = bytes.indexOf(this.opener)
    const closer = this.block ? bytes.indexOf(this.closer) : -1
    const first = opener < 0 ? closer : closer < 0 ? opener : Math.min(opener, closer)
    return first < 0 ? -1 : first + from
  }

  #begins(tag: Bytes, position: number, bound: number): boolean | undefined {
    const { view, base } = this.#scan.tape
    const i = position - base
    const length = Math.min(tag.length, bound - position)
    if (view.compare(tag, 0, length, i, i + length) !== 0) return false
    if (length === tag.length) return true
    return this.final && bound === this.bound ? false : undefined
  }
}
