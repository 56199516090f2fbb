import { Bytes } from '../../base/platform.ts'
import type { gate } from '../../frames/gate.ts'
import { Needle, NOWHERE } from '../../frames/needle.ts'
import type { Scan } from '../../frames/scan.ts'
import { isBlank, LF, SPACE } from '../../json/characters.ts'
import type { ChangeKind } from '../ladder/change.ts'
import type { Level } from './item-paths.ts'

/** Before the first bracket of a document is sure, and after its last one. */
type OpeningStage = 'gate' | 'before' | 'marks'
/** Inside its containers. */
export type ContainerStage = 'value' | 'key' | 'in key' | 'colon' | 'comma' | 'walk' | 'lost'
export type Stage = OpeningStage | ContainerStage

/** What a step comes to: there is more to do, more bytes are needed, the document is over, or it has been left. */
export type Step = 'on' | 'wait' | 'over' | 'left'

/** How a document began. */
export interface Beginning {
  readonly from: number
  /** Where that was in the original: the bytes themselves are let go. */
  readonly origin: number
  /** Where to go on: after the tag of a block, or after the bracket. */
  readonly at: number
  /** What a bare bracket must pass before it counts as one. */
  readonly judge: ReturnType<typeof gate> | undefined
  readonly why: ChangeKind | undefined
  readonly sure: boolean
}

/** All that is known of the document under way. Made anew for each. */
export class DocumentState {
  readonly from: number
  readonly origin: number
  readonly judge: ReturnType<typeof gate> | undefined
  why: ChangeKind | undefined
  stage: Stage
  at: number
  readonly levels: Level[] = []
  /** The place of the items has been found: from here on nothing is taken for prose any more. */
  found = false
  /** Whether it is one beyond doubt: in a tag, in a fence, or the first thing of the input. */
  readonly sure: boolean
  /** How far the inside of the element that was lost is indented; -1 if that says nothing. */
  indent = -1
  /** The kind of comment between two tokens that is under way. */
  comment: 'line' | 'block' | undefined = undefined
  /** The fence marks that its block begins with; 0 for none. They may be there after it, too. */
  marks = 0
  /** Something before the next element was not JSON. */
  odd = false
  /** The name of the member at hand, if it was read. */
  name: string | undefined = undefined

  constructor({ from, origin, at, judge, why, sure }: Beginning) {
    this.from = from
    this.origin = origin
    this.at = at
    this.judge = judge
    this.why = why
    this.stage = judge ? 'gate' : 'before'
    this.sure = sure
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
  whyNow(): ChangeKind | undefined {
    return this.why ?? (this.odd ? 'passed over what is no JSON' : undefined)
  }
}

/**
 * What ends a document from outside, wherever in it that is: the tag of the next block, the closer of its own
 * block, or the closing line of its fence.
 */
export class DocumentEnd {
  /** As far as the document under way may be read. */
  bound = 0
  /** No more bytes of it will come after the bound. */
  final = false
  /** Whether the document under way is in a block of the tag. */
  block = false
  /** The fence around the document under way. In one, tags are text. */
  fence: FenceEnd | undefined = undefined
  readonly opener: Bytes
  readonly closer: Bytes
  readonly #scan: Scan

  constructor(scan: Scan, tag: string) {
    this.opener = Bytes.from(`<${tag}>`)
    this.closer = Bytes.from(`</${tag}>`)
    this.#scan = scan
  }

  /** Takes note of the bytes that have come. */
  look(): void {
    const { tape, ended } = this.#scan
    this.fence?.look()
    this.bound = this.fence ? this.fence.line : tape.end
    this.final = ended || this.fence?.closed === true
  }

  /** Whether a tag that ends the document is between a position and a bound; undefined if it may yet be. */
  tagAt(position: number, bound: number): boolean | undefined {
    if (this.fence) return false
    const begun = this.#begins(this.opener, position, bound)
    if (begun === true || !this.block) return begun
    const closed = this.#begins(this.closer, position, bound)
    return closed === true || (closed === false && begun === false) ? closed : undefined
  }

  /** Where the closing tag is, at or after a position, in the bytes that are held; -1 for nowhere. */
  nextCloser(position: number): number {
    const { view, base } = this.#scan.tape
    const index = view.indexOf(this.closer, position - base)
    return index < 0 ? -1 : index + base
  }

  /** Where the first tag that ends the document begins, between two positions; -1 for nowhere. */
  firstTag(from: number, to: number): number {
    if (this.fence) return -1
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

//  ```json
//  {"issues":[          ^ line: as far as the body is known to go
//     ```   LF
//  ^^^          indent
//     ^^^       marks, at least as many as in the opener
//        ^^^    blanks

/** Finds the line that closes a fence, whatever the chunks. */
export class FenceEnd {
  /** The body is known to go as far as this; when the fence is closed, where its closing line begins. */
  line: number
  closed = false
  /** Where prose goes on after the closing line. */
  after = 0
  readonly #scan: Scan
  readonly #mark: number
  readonly #length: number
  readonly #maxIndent: number
  readonly #lf: Needle
  /** Where the line under way begins, and how far it has been looked at. */
  #start: number
  #at: number
  #marks = 0
  /** `no` if the line under way closes nothing. */
  #stage: 'indent' | 'marks' | 'blanks' | 'no' = 'indent'

  /** For a fence with `length` marks, indented by `indent`, whose body begins at `body`. */
  constructor(scan: Scan, mark: number, length: number, indent: number, body: number) {
    this.#scan = scan
    this.#mark = mark
    this.#length = length
    this.#maxIndent = indent + 3
    this.#lf = new Needle(scan.tape, '\n')
    this.#lf.reset(body)
    this.#start = body
    this.#at = body
    this.line = body
  }

  /** Looks at the bytes that have come. */
  look(): void {
    const { tape, ended } = this.#scan
    while (!this.closed && this.#at < tape.end) {
      if (this.#stage === 'no') {
        const lf = this.#lf.next(this.#at)
        if (lf === NOWHERE) {
          this.#at = tape.end
          break
        }
        this.#begin(lf + 1)
      } else this.#judge(this.#scan.byte(this.#at) as number)
    }
    const marked = this.#stage === 'blanks' || (this.#stage === 'marks' && this.#marks >= this.#length)
    if (ended && marked && !this.closed) this.#close()
    if (!this.closed) this.line = this.#stage === 'no' || ended ? tape.end : this.#start
  }

  #begin(line: number): void {
    this.#start = line
    this.#at = line
    this.#marks = 0
    this.#stage = 'indent'
  }

  #judge(byte: number): void {
    if (this.#stage === 'indent' && byte !== SPACE) this.#stage = 'marks'
    if (this.#stage === 'marks' && byte !== this.#mark) this.#stage = this.#isMarked() ? 'blanks' : 'no'
    const tooLong = this.#at - this.#start >= this.#scan.maxFrame
    if (tooLong || (this.#stage === 'indent' && this.#at - this.#start >= this.#maxIndent)) this.#stage = 'no'
    if (this.#stage === 'blanks' && !isBlank(byte)) this.#stage = 'no'
    if (this.#stage === 'no') return
    if (this.#stage === 'marks') this.#marks++
    this.#at++
    if (byte === LF) this.#close()
  }

  #isMarked(): boolean {
    return this.#marks >= this.#length
  }

  #close(): void {
    this.closed = true
    this.line = this.#start
    this.after = this.#at
  }
}
