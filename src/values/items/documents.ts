import { type FenceHit, openings } from '../../frames/fence-opening.ts'
import { type BracketRule, bracketCheck } from '../../frames/opening-bracket.ts'
import type { Inside, Scan } from '../../frames/scan.ts'
import { thinkMachine } from '../../frames/think.ts'
import type { ChangeKind } from '../../repair/change.ts'
import { ByteSearch, NOWHERE } from '../../text/byte-search.ts'
import { BACKTICK, bomAt, isBlank, isBracket, LESS, NUL, TILDE } from '../../text/characters.ts'
import { isPayloadFence } from '../payload-fence.ts'
import { containerReader } from './containers.ts'
import { DocumentEnd, DocumentState, FenceEnd, type Stage, type Step } from './document.ts'
import type { ItemSink } from './element-walk.ts'
import type { Selection } from './item-paths.ts'

export interface FinderOptions {
  /** Only blocks of this tag; undefined for `<json>` blocks and bare documents. */
  readonly tag: string | undefined
  /** Objects with bare or single-quoted keys open in prose, too. */
  readonly loose: boolean
}

export interface DocumentFinder {
  /** Finds the next document and switches to its machine. False: it waits for more bytes. */
  look(): boolean
  /** Whether only blanks have been seen. */
  blank(): boolean
}

/**
 * The state outside documents: finds where the next one begins. Think blocks hide their content. The body of
 * a json fence is a document; in any other fence, brackets are treated as in prose. With `tag`, fences are
 * text.
 */
export function documentFinder(scan: Scan, machine: DocumentMachine, options: FinderOptions): DocumentFinder {
  const { tape } = scan
  const { end } = machine
  const backticks = openings(scan, '```')
  const tildes = openings(scan, '~~~')
  /** How the current fence is treated: its first bracket is a document, or any bracket in it may be one. */
  let fenceKind: 'payload' | 'unlabelled' | 'prose' = 'prose'
  /** The first byte of the fence's body was seen. */
  let begun = false
  const bare = options.tag === undefined
  const opener = new ByteSearch(tape, `<${options.tag ?? 'json'}>`)
  const brace = new ByteSearch(tape, '{')
  const bracket = new ByteSearch(tape, '[')
  const think = thinkMachine(scan, (from, to) => {
    if (from === firstThink) firstFrom = to
  })
  const proseKind = options.loose ? 'loose' : 'strict'
  const longestOpener = Math.max(opener.length, '<thinking>'.length)
  let blank = true
  /** The search for the first byte of the input that counts continues here; NOWHERE when it is over. */
  let firstFrom = 0
  /** A think block at the very start: the document may begin after it. */
  let firstThink = -1

  function look(): boolean {
    if (end.fence) return lookInFence(end.fence)
    if (firstFrom !== NOWHERE && !findFirst()) return false
    if (scan.inside) return true
    const from = scan.position
    const tag = opener.next(from)
    const thinking = think.next(from)
    const bracketAt = bare ? Math.min(brace.next(from), bracket.next(from)) : NOWHERE
    const fence = bare ? nextFence(from) : NOTHING
    const at = Math.min(tag, thinking, bracketAt, fence.at)
    if (at === NOWHERE) {
      scan.position = Math.max(from, tape.end - longestOpener + 1)
      return false
    }
    scan.position = at
    if (at === fence.at) {
      if (!fence.decided) return false
      openFence(at)
    } else if (at === tag) machine.openBlock(at)
    else if (at === thinking) think.open(at)
    else machine.openBare(at, proseKind, 'took an object from prose')
    return true
  }

  function nextFence(from: number): FenceHit {
    const backtick = backticks.next(from)
    const tilde = tildes.next(from)
    return backtick.at < tilde.at ? backtick : tilde
  }

  function openFence(from: number): void {
    const { mark, container, runEnd, lineEnd } = (scan.byte(from) === BACKTICK ? backticks : tildes).at(from)
    const body = Math.min(lineEnd + 1, tape.end)
    scan.position = body
    // A quoted fence has quote marks on every line: its body is prose.
    if (container.quotes > 0) return
    const info = runEnd === lineEnd ? '' : scan.decode(runEnd, lineEnd).trim()
    fenceKind = info === '' ? 'unlabelled' : isPayloadFence(info, '') ? 'payload' : 'prose'
    begun = false
    end.fence = new FenceEnd(scan, mark, runEnd - from, container.indent, body)
  }

  //  ```json
  //  {"issues":[{"a":1}]}     the first thing in it: certainly a document
  //  ```
  function lookInFence(fence: FenceEnd): boolean {
    end.look()
    if (!begun) {
      let first = scan.position
      while (first < end.bound && isBlank(scan.byte(first))) first++
      scan.position = first
      if (first < end.bound) {
        begun = true
        if (fenceKind !== 'prose' && isBracket(scan.byte(first))) {
          machine.openBare(first, 'document', 'took a fence body', true)
          return true
        }
        if (fenceKind === 'unlabelled') fenceKind = 'prose'
      }
    }
    const at = Math.min(brace.next(scan.position), bracket.next(scan.position))
    if (at < end.bound) {
      const why = fenceKind === 'prose' ? 'took an object from prose' : 'took a fence body'
      scan.position = at
      machine.openBare(at, proseKind, why)
      return true
    }
    scan.position = end.bound
    if (!fence.closed) return false
    scan.position = fence.after
    end.fence = undefined
    return true
  }

  /** Searches for the first byte that is not blank. False: it has not arrived yet. */
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
    else if (bare && isBracket(byte)) {
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

const NOTHING: FenceHit = { at: NOWHERE, decided: true }

export interface DocumentOptions {
  readonly selections: readonly Selection[]
  readonly tag: string
  /** Whether a block must begin with a document, or may begin with anything else. */
  readonly needsPayload: boolean
  readonly sink: ItemSink
}

/** Starts documents, at a tag or at a bracket. */
export interface DocumentMachine {
  /** What ends the current document. */
  readonly end: DocumentEnd
  /** Opens the block of a tag at `from`. */
  openBlock(from: number): void
  /**
   * Opens what begins with the bracket at `from`; `why` is undefined if it is the first thing of the input.
   * Unless it is `sure` to be a document, it is given up at the first thing that is not JSON.
   */
  openBare(from: number, kind: BracketRule, why: ChangeKind | undefined, sure?: boolean): void
}

/**
 * Reads a document of any size and emits the selected elements, each as soon as what follows shows that it is
 * complete. Only the current element is held. This part finds out whether there is a document, and where it
 * begins; the container reader does the rest.
 *
 *     <json> ```json {"summary":"…","issues":[{"a":1},{"a":2}]} ```</json>
 *           ^^^^^^^^^ before          the containers             ^^^ marks
 */
export function documentMachine(scan: Scan, options: DocumentOptions): DocumentMachine {
  const { tape } = scan
  const { selections, needsPayload, sink } = options
  const end = new DocumentEnd(scan, options.tag)
  const containers = containerReader(scan, { selections, end, sink })
  let doc: DocumentState

  const steps: Readonly<Record<Stage, () => Step>> = {
    gate: passGate,
    before: findStart,
    marks: passMarks,
    ...containers.steps,
  }

  const inside: Inside = {
    keep() {
      if (doc.stage === 'gate') return doc.from
      const outside = doc.stage === 'before' || doc.stage === 'marks'
      return outside ? Math.min(doc.at, tape.end) : containers.keep()
    },
    look() {
      const { emitted } = scan
      end.look()
      for (;;) {
        const step = steps[doc.stage]()
        if (step === 'wait' && end.fence?.closed) {
          inside.finish()
          return true
        }
        if (step === 'over') {
          doc.stage = 'marks'
          continue
        }
        if (step !== 'on') return step === 'left'
        // The turn may be over.
        if (scan.emitted !== emitted) return true
      }
    },
    finish() {
      const begun = doc.stage !== 'gate' && doc.stage !== 'before' && doc.stage !== 'marks'
      scan.leave(begun ? containers.finish() : end.bound)
    },
  }

  //  see [1] and {"a":1}
  //      ^^      ^^       gate: enough to tell prose from a document
  function passGate(): Step {
    const limit = scan.limit(doc.from)
    for (; doc.at < Math.min(limit, end.bound); doc.at++) {
      const opens = doc.judge?.(scan.byte(doc.at) ?? 0)
      if (opens === undefined) continue
      if (!opens) return leave(doc.at)
      // The bytes after the bracket are read again, this time as a document.
      doc.at = doc.from
      return containers.begin(doc)
    }
    return end.bound < limit ? 'wait' : leave(limit)
  }

  //  <json> ```json {
  //        ^^^^^^^^^  before
  function findStart(): Step {
    for (; doc.at < end.bound; doc.at++) {
      const byte = scan.byte(doc.at)
      if (isBlank(byte)) continue
      if (isBracket(byte)) return containers.begin(doc)
      const mark = byte === BACKTICK || byte === TILDE
      if (mark && doc.why === undefined && doc.marks < 3) doc.marks++
      else if (needsPayload && doc.marks < 3) return leave(doc.at)
      else doc.why = 'took an object from prose'
      if (byte === LESS) {
        const tag = end.tagAt(doc.at, end.bound)
        if (tag === undefined) return 'wait'
        if (tag) return leave(doc.at)
      }
    }
    return 'wait'
  }

  /** A fence inside the block is closed after the document: its marks must not open another one. */
  function passMarks(): Step {
    if (doc.marks < 3) return leave(doc.at)
    for (; doc.at < end.bound; doc.at++) {
      const byte = scan.byte(doc.at)
      if (!isBlank(byte) && byte !== BACKTICK && byte !== TILDE) return leave(doc.at)
    }
    return 'wait'
  }

  function leave(position: number): 'left' {
    scan.leave(position)
    return 'left'
  }

  return {
    end,
    openBlock(from) {
      const at = from + end.opener.length
      const origin = tape.origin(from)
      doc = new DocumentState({ from, origin, at, judge: undefined, why: undefined, sure: true })
      end.block = true
      scan.enter(inside)
    },
    openBare(from, kind, why, sure = why === undefined) {
      const judge = bracketCheck(kind, scan.byte(from) ?? 0)
      doc = new DocumentState({ from, origin: tape.origin(from), at: from + 1, judge, why, sure })
      end.block = false
      scan.enter(inside)
    },
  }
}
