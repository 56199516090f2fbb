import { endOfAside, isAside, MAX_BEHIND } from '../../frames/citations.ts'
import { FenceMachine } from '../../frames/fence.ts'
import { withDefaults } from '../../frames/frames.ts'
import { type BracketRule, bracketCheck } from '../../frames/opening-bracket.ts'
import { Prose } from '../../frames/prose.ts'
import type { Inside, Scan } from '../../frames/scan.ts'
import { isPiece } from '../../frames/within.ts'
import { isStructureAt } from '../../json/after-value.ts'
import type { ChangeKind } from '../../repair/change.ts'
import { ByteSearch } from '../../text/byte-search.ts'
import { BACKTICK, isBlank, isBracket, LESS, OPEN_BRACKET, TILDE } from '../../text/characters.ts'
import type { Tape } from '../../text/tape.ts'
import { isPayloadFence } from '../candidates.ts'
import { ContainerReader } from './containers.ts'
import { DocumentEnd, DocumentState, type WalkStep } from './document.ts'
import type { ItemSink } from './element-walk.ts'
import type { Selection } from './item-paths.ts'

export interface FinderOptions {
  /** Only blocks of this tag; undefined for `<json>` blocks and bare documents. */
  readonly tag: string | undefined
  /** Objects with bare or single-quoted keys open in prose, too. */
  readonly loose: boolean
  /** Thoughts hide their content. */
  readonly think: boolean | readonly string[]
}

/**
 * Finds where the next document begins, by the rules of frames. The body of a json fence is a document; any
 * other fence is like prose. With `tag`, fences are text.
 */
export function documentFinder(
  scan: Scan,
  machine: DocumentMachine,
  { tag, loose, think }: FinderOptions,
): Prose {
  const name = tag ?? 'json'
  const bare = tag === undefined
  const options = withDefaults({
    tags: [name],
    fences: bare,
    objects: bare,
    lines: false,
    think,
    loose,
    document: 'object',
    maxFrame: scan.maxFrame,
  })
  scan.head.keepsBefore = true
  // In a fence, tags are text.
  const openTag = (from: number) => (scan.proseFence ? scan.leave(from + 1) : machine.openBlock(from))
  const prose: Prose = new Prose(scan, options, {
    tags: [{ name, opener: new ByteSearch(scan.tape, `<${name}>`), open: openTag }],
    fences: machine.fences,
    object: {
      open(from, rule, first) {
        const { head } = scan
        const bracket = scan.byte(from) ?? 0
        if (scan.members?.has(from)) scan.leave(from + 1)
        else if (first)
          machine.openBare(from, rule, prose.hasThought ? 'dropped a think block' : undefined, true)
        else if (
          (bracket === OPEN_BRACKET || head.mayBeInside(from)) &&
          isPiece(head.before(from), String.fromCharCode(bracket)) &&
          !JSONP.test(head.before(from))
        )
          scan.leave(from + 1)
        else
          machine.openBare(
            from,
            rule,
            machine.inJsonFence ? 'took a fence body' : 'took an object from prose',
          )
      },
    },
  })
  return prose
}

/** The call around a document that is the whole input. */
const JSONP = /^[\s\ufeff]{0,99}[\w$.]{1,99}\(\s{0,99}$/

export interface DocumentOptions {
  readonly selections: readonly Selection[]
  readonly tag: string
  /** Whether a block must begin with a document, or may begin with anything else. */
  readonly needsPayload: boolean
  readonly sink: ItemSink
}

/**
 * Reads a document of any size and emits the selected elements, each as soon as what follows shows that it is
 * complete. Only the current element is held. This part finds out whether there is a document, and where it
 * begins; the container reader does the rest.
 *
 *     <json> ```json {"summary":"…","issues":[{"a":1},{"a":2}]} ```</json>
 *           ^^^^^^^^^ before          the containers             ^^^ marks
 */
export class DocumentMachine implements Inside {
  /** What ends the current document. */
  readonly end: DocumentEnd
  readonly fences: FenceMachine
  #isJsonFence = false
  readonly #scan: Scan
  readonly #tape: Tape
  readonly #needsPayload: boolean
  readonly #sink: ItemSink
  readonly #containers: ContainerReader
  #doc!: DocumentState

  constructor(scan: Scan, { selections, tag, needsPayload, sink }: DocumentOptions) {
    this.fences = new FenceMachine(scan, 'any', (info, body) => this.#openBody(info, body))
    this.end = new DocumentEnd(scan, tag, this.fences)
    this.#scan = scan
    this.#tape = scan.tape
    this.#needsPayload = needsPayload
    this.#sink = sink
    this.#containers = new ContainerReader(scan, { selections, end: this.end, sink })
  }

  /** Opens the block of a tag at `from`. */
  openBlock(from: number): void {
    const at = from + this.end.opener.length
    const origin = this.#tape.origin(from)
    this.#doc = new DocumentState({ from, origin, at, judge: undefined, why: undefined, sure: true })
    this.end.block = true
    this.end.fenced = false
    this.#scan.enter(this)
  }

  get inJsonFence(): boolean {
    return this.#isJsonFence && this.#scan.proseFence !== undefined
  }

  /** A fence opens: what begins the body of a json fence, or of one without a label, is a document. */
  #openBody(info: string, body: number): void {
    this.#isJsonFence = isPayloadFence(info, '')
    if (!this.#isJsonFence && info !== '') return
    const origin = this.#tape.origin(body - 1) + 1
    const why = 'took a fence body'
    this.#doc = new DocumentState({ from: body, origin, at: body, judge: undefined, why, sure: true })
    this.end.block = false
    this.end.fenced = true
    this.#scan.enter(this)
  }

  /**
   * Opens what begins with the bracket at `from`; `why` is undefined if it is the first thing of the input.
   * Unless it is `sure` to be a document, it is given up at the first thing that is not JSON.
   */
  openBare(from: number, kind: BracketRule, why: ChangeKind | undefined, sure = why === undefined): void {
    const judge = bracketCheck(kind, this.#scan.byte(from) ?? 0)
    const origin = this.#tape.origin(from)
    this.#doc = new DocumentState({ from, origin, at: from + 1, judge, why, sure })
    this.end.block = false
    this.end.fenced = this.#scan.proseFence !== undefined
    this.#scan.enter(this)
  }

  keep(): number {
    const { stage, from, at } = this.#doc
    if (stage === 'opening') return from
    const outside = stage === 'before' || stage === 'marks'
    return outside ? Math.min(at, this.#tape.end) : this.#containers.keep()
  }

  look(): boolean {
    const { emitted } = this.#scan
    this.end.look()
    for (;;) {
      const step = this.#stepOn()
      if (step === 'wait' && this.end.closed) {
        this.finish()
        return true
      }
      if (step === 'over') {
        this.#doc.stage = 'marks'
        continue
      }
      if (step !== 'on') return step === 'left'
      // The turn may be over.
      if (this.#scan.emitted !== emitted) return true
    }
  }

  finish(): void {
    const { stage } = this.#doc
    const begun = stage !== 'opening' && stage !== 'before' && stage !== 'marks'
    this.#scan.leave(begun ? this.#containers.finish() : this.end.bound)
  }

  #stepOn(): WalkStep {
    const { stage } = this.#doc
    switch (stage) {
      case 'opening':
        return this.#judgeOpening()
      case 'before':
        return this.#findStart()
      case 'marks':
        return this.#passMarks()
      default:
        return this.#containers.step(stage)
    }
  }

  //  see [1] and {"a":1}
  //      ^^      ^^       opening: enough to tell prose from a document
  #judgeOpening(): WalkStep {
    const doc = this.#doc
    const limit = this.#scan.limit(doc.from)
    for (; doc.at < Math.min(limit, this.end.bound); doc.at++) {
      const opens = doc.judge?.(this.#scan.byte(doc.at) ?? 0)
      if (opens === undefined) continue
      return opens ? this.#beginUnlessAside(doc.from) : this.#leave(doc.at)
    }
    return this.end.bound < limit ? 'wait' : this.#leave(limit)
  }

  //  [1] Smith said so       [1,2,3
  //  ^^^ no document            ^ a document
  #beginUnlessAside(from: number): WalkStep {
    const scan = this.#scan
    const doc = this.#doc
    const { end } = this
    const to = endOfAside(scan, from, end.bound)
    if (to === undefined && !end.final) return 'wait'
    if (to) {
      const { view, base } = this.#tape
      const most = Math.min(end.bound, to + MAX_BEHIND)
      const tag = end.firstTag(to, most)
      const all = view.toString('latin1', to - base, (tag < 0 ? most : tag) - base)
      // What is on the next line may not have arrived.
      const after = all.split('\n', 1)[0]!
      if (after === all && all.length < MAX_BEHIND && tag < 0 && !end.final) return 'wait'
      // What goes on is a broken document, if only that can begin there; `[1]: …` tells of a footnote.
      const goesOn = doc.sure && after[0] !== ':' && isStructureAt(`]${after}`, 1)
      if (!goesOn && isAside(scan, from, to, after, doc.sure)) {
        if (end.block || (end.fenced && doc.sure)) this.#sink.itemLost({ from, to, path: '', why: doc.why })
        return this.#leave(to)
      }
    }
    // The bytes after the bracket are read again, this time as a document.
    doc.at = from
    return this.#containers.begin(doc)
  }

  //  <json> ```json {
  //        ^^^^^^^^^  before
  #findStart(): WalkStep {
    const doc = this.#doc
    const end = this.end
    for (; doc.at < end.bound; doc.at++) {
      const byte = this.#scan.byte(doc.at)
      if (isBlank(byte)) continue
      if (isBracket(byte)) {
        if (end.block) return this.#beginUnlessAside(doc.at)
        this.openBare(doc.at, 'document', 'took a fence body', true)
        return 'on'
      }
      const mark = byte === BACKTICK || byte === TILDE
      if (mark && doc.why === undefined && doc.marks < 3) doc.marks++
      else if (this.#needsPayload && doc.marks < 3) return this.#leave(doc.at)
      else doc.why = 'took an object from prose'
      if (byte === LESS) {
        const tag = end.tagAt(doc.at, end.bound)
        if (tag === undefined) return 'wait'
        if (tag) return this.#leave(doc.at)
      }
    }
    return 'wait'
  }

  //  {"a":1}``` ok
  //         ^^^
  /** Marks after the document that began a fence close it, wherever they are. */
  #closeFence(): WalkStep {
    const doc = this.#doc
    while (doc.at < this.#tape.end && isBlank(this.#scan.byte(doc.at))) doc.at++
    const to = this.fences.closesAt(doc.at)
    if (to === undefined) return 'wait'
    if (to < 0) return this.#leave(doc.at)
    this.fences.close(to)
    return 'left'
  }

  /** A fence inside the block is closed after the document: its marks must not open another one. */
  #passMarks(): WalkStep {
    const doc = this.#doc
    if (this.end.fenced && doc.sure) return this.#closeFence()
    if (doc.marks < 3) return this.#leave(doc.at)
    for (; doc.at < this.end.bound; doc.at++) {
      const byte = this.#scan.byte(doc.at)
      if (!isBlank(byte) && byte !== BACKTICK && byte !== TILDE) return this.#leave(doc.at)
    }
    return 'wait'
  }

  #leave(position: number): 'left' {
    this.#scan.leave(position)
    return 'left'
  }
}
