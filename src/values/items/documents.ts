import { type FenceHit, openings } from '../../frames/fence-opening.ts'
import { MarkSearch } from '../../frames/mark-search.ts'
import { type BracketRule, bracketCheck } from '../../frames/opening-bracket.ts'
import type { Inside, Scan } from '../../frames/scan.ts'
import { MARKS_WITHIN, type ThoughtMark, thinkMachine, thoughtMarks } from '../../frames/think.ts'
import type { Dialect } from '../../frames/thoughts.ts'
import type { ChangeKind } from '../../repair/change.ts'
import { ByteSearch, NOWHERE } from '../../text/byte-search.ts'
import { BACKTICK, bomAt, isBlank, isBracket, LESS, NUL, TILDE } from '../../text/characters.ts'
import type { Tape } from '../../text/tape.ts'
import { isPayloadFence } from '../candidates.ts'
import { ContainerReader } from './containers.ts'
import { DocumentEnd, DocumentState, FenceEnd, type Step } from './document.ts'
import type { ItemSink } from './element-walk.ts'
import type { Selection } from './item-paths.ts'

export interface FinderOptions {
  /** Only blocks of this tag; undefined for `<json>` blocks and bare documents. */
  readonly tag: string | undefined
  /** Objects with bare or single-quoted keys open in prose, too. */
  readonly loose: boolean
  /** The dialects of thoughts. */
  readonly think: readonly Dialect[]
}

/**
 * The state outside documents: finds where the next one begins. Think blocks hide their content. The body of
 * a json fence is a document; any other fence is like prose. With `tag`, fences are text.
 */
export class DocumentFinder {
  /** Only blanks have been seen. */
  blank = true
  readonly #scan: Scan
  readonly #tape: Tape
  readonly #machine: DocumentMachine
  readonly #end: DocumentEnd
  readonly #backticks: ReturnType<typeof openings>
  readonly #tildes: ReturnType<typeof openings>
  readonly #think: ReturnType<typeof thinkMachine>
  readonly #thoughts: MarkSearch<ThoughtMark>
  readonly #opener: ByteSearch
  readonly #brace: ByteSearch
  readonly #bracket: ByteSearch
  readonly #bare: boolean
  readonly #proseKind: BracketRule
  /** How the current fence is treated: its first bracket is a document, or any bracket in it may be one. */
  #fenceKind: 'payload' | 'unlabelled' | 'prose' = 'prose'
  /** The first byte of the fence's body was seen. */
  #begun = false
  /** The search for the first byte of the input that counts continues here; NOWHERE when it is over. */
  #firstFrom = 0
  /** A think block at the very start: the document may begin after it. */
  #firstThink = -1

  constructor(scan: Scan, machine: DocumentMachine, { tag, loose, think }: FinderOptions) {
    const { tape } = scan
    this.#scan = scan
    this.#tape = tape
    this.#machine = machine
    this.#end = machine.end
    this.#backticks = openings(scan, '```')
    this.#tildes = openings(scan, '~~~')
    const closed = (from: number, to: number) => {
      if (from === this.#firstThink) this.#firstFrom = to
    }
    this.#think = thinkMachine(scan, { patient: false, closed })
    this.#thoughts = new MarkSearch(
      scan,
      thoughtMarks(think).filter(({ lone }) => !lone),
      MARKS_WITHIN,
    )
    this.#opener = new ByteSearch(tape, `<${tag ?? 'json'}>`)
    this.#brace = new ByteSearch(tape, '{')
    this.#bracket = new ByteSearch(tape, '[')
    this.#bare = tag === undefined
    this.#proseKind = loose ? 'loose' : 'strict'
  }

  /** Finds the next document and switches to its machine. False: it waits for more bytes. */
  look(): boolean {
    const scan = this.#scan
    if (this.#end.fence) return this.#lookInFence(this.#end.fence)
    if (this.#firstFrom !== NOWHERE && !this.#findFirst()) return false
    if (scan.inside) return true
    const from = scan.position
    const tag = this.#opener.next(from)
    const thinking = this.#thoughts.next(from)
    const bracketAt = this.#bare ? Math.min(this.#brace.next(from), this.#bracket.next(from)) : NOWHERE
    const fence = this.#bare ? this.#nextFence(from) : NOTHING
    const at = Math.min(tag, thinking, bracketAt, fence.at)
    if (at === NOWHERE) {
      const partial = Math.min(this.#thoughts.partial(), this.#tape.end - this.#opener.length + 1)
      scan.position = Math.max(from, partial)
      return false
    }
    scan.position = at
    if (at === bracketAt && at === this.#thoughts.partial()) return false
    if (at === fence.at) {
      if (!fence.decided) return false
      this.#openFence(at)
    } else if (at === tag) this.#machine.openBlock(at)
    else if (at === thinking) this.#think.open(at, this.#thoughts.to, this.#thoughts.mark!.thought!)
    else this.#machine.openBare(at, this.#proseKind, 'took an object from prose')
    return true
  }

  #nextFence(from: number): FenceHit {
    const backtick = this.#backticks.next(from)
    const tilde = this.#tildes.next(from)
    return backtick.at < tilde.at ? backtick : tilde
  }

  #openFence(from: number): void {
    const scan = this.#scan
    const { mark, container, runEnd, lineEnd } = (
      scan.byte(from) === BACKTICK ? this.#backticks : this.#tildes
    ).at(from)
    const body = Math.min(lineEnd + 1, this.#tape.end)
    scan.position = body
    // A quoted fence has quote marks on every line: its body is prose.
    if (container.quotes > 0) return
    const info = runEnd === lineEnd ? '' : scan.decode(runEnd, lineEnd).trim()
    this.#fenceKind = info === '' ? 'unlabelled' : isPayloadFence(info, '') ? 'payload' : 'prose'
    this.#begun = false
    this.#end.fence = new FenceEnd(scan, {
      ...container,
      from,
      mark,
      length: runEnd - from,
      info,
      body,
      odd: false,
    })
  }

  //  ```json
  //  {"issues":[{"a":1}]}     the first thing in it: certainly a document
  //  ```
  #lookInFence(fence: FenceEnd): boolean {
    const scan = this.#scan
    const end = this.#end
    end.look()
    if (!this.#begun) {
      let first = scan.position
      while (first < end.bound && isBlank(scan.byte(first))) first++
      scan.position = first
      if (first < end.bound) {
        this.#begun = true
        if (this.#fenceKind !== 'prose' && isBracket(scan.byte(first))) {
          this.#machine.openBare(first, 'document', 'took a fence body', true)
          return true
        }
        if (this.#fenceKind === 'unlabelled') this.#fenceKind = 'prose'
      }
    }
    const at = Math.min(this.#brace.next(scan.position), this.#bracket.next(scan.position))
    if (at < end.bound) {
      const why = this.#fenceKind === 'prose' ? 'took an object from prose' : 'took a fence body'
      scan.position = at
      this.#machine.openBare(at, this.#proseKind, why)
      return true
    }
    scan.position = end.bound
    if (!fence.closed) return false
    scan.position = fence.after
    end.fence = undefined
    return true
  }

  /** Searches for the first byte that is not blank. False: it has not arrived yet. */
  #findFirst(): boolean {
    const scan = this.#scan
    for (; this.#firstFrom < this.#tape.end; this.#firstFrom++) {
      const byte = scan.byte(this.#firstFrom)
      if (byte === NUL || isBlank(byte)) continue
      if (bomAt(this.#tape.view, this.#firstFrom - this.#tape.base) === 3) {
        this.#firstFrom += 2
        continue
      }
      if (byte === 0xef && this.#firstFrom + 3 > this.#tape.end && !scan.ended) break
      const thought = this.#thoughts.next(this.#firstFrom)
      if (this.#firstFrom === this.#thoughts.partial()) break
      if (this.#firstFrom === thought) this.#firstThink = thought
      else this.#openFirst(this.#firstFrom, byte)
      this.blank = false
      this.#firstFrom = NOWHERE
      return true
    }
    scan.position = Math.min(this.#firstFrom, this.#tape.end)
    return false
  }

  #openFirst(at: number, byte: number | undefined): void {
    if (this.#bare && isBracket(byte))
      this.#machine.openBare(at, 'document', this.blank ? undefined : 'dropped a think block', true)
  }
}

const NOTHING: FenceHit = { at: NOWHERE, decided: true }

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
  readonly #scan: Scan
  readonly #tape: Tape
  readonly #needsPayload: boolean
  readonly #containers: ContainerReader
  #doc!: DocumentState

  constructor(scan: Scan, { selections, tag, needsPayload, sink }: DocumentOptions) {
    this.end = new DocumentEnd(scan, tag)
    this.#scan = scan
    this.#tape = scan.tape
    this.#needsPayload = needsPayload
    this.#containers = new ContainerReader(scan, { selections, end: this.end, sink })
  }

  /** Opens the block of a tag at `from`. */
  openBlock(from: number): void {
    const at = from + this.end.opener.length
    const origin = this.#tape.origin(from)
    this.#doc = new DocumentState({ from, origin, at, judge: undefined, why: undefined, sure: true })
    this.end.block = true
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
      if (step === 'wait' && this.end.fence?.closed) {
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

  #stepOn(): Step {
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
  #judgeOpening(): Step {
    const doc = this.#doc
    const limit = this.#scan.limit(doc.from)
    for (; doc.at < Math.min(limit, this.end.bound); doc.at++) {
      const opens = doc.judge?.(this.#scan.byte(doc.at) ?? 0)
      if (opens === undefined) continue
      if (!opens) return this.#leave(doc.at)
      // The bytes after the bracket are read again, this time as a document.
      doc.at = doc.from
      return this.#containers.begin(doc)
    }
    return this.end.bound < limit ? 'wait' : this.#leave(limit)
  }

  //  <json> ```json {
  //        ^^^^^^^^^  before
  #findStart(): Step {
    const doc = this.#doc
    const end = this.end
    for (; doc.at < end.bound; doc.at++) {
      const byte = this.#scan.byte(doc.at)
      if (isBlank(byte)) continue
      if (isBracket(byte)) return this.#containers.begin(doc)
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

  /** A fence inside the block is closed after the document: its marks must not open another one. */
  #passMarks(): Step {
    const doc = this.#doc
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
