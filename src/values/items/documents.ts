import { type GateKind, gate } from '../../frames/gate.ts'
import { Needle, NOWHERE } from '../../frames/needle.ts'
import type { Inside, Scan } from '../../frames/scan.ts'
import { thinkMachine } from '../../frames/think.ts'
import { bomAt, isBlank, LESS, NUL, OPEN_BRACE, OPEN_BRACKET } from '../../json/characters.ts'
import { containerReader } from './containers.ts'
import { DocumentState, EndTags, type Stage, type Step } from './document.ts'
import type { ItemSink } from './element-walk.ts'
import type { Selection } from './item-paths.ts'

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
    else machine.openBare(at, options.loose ? 'loose' : 'strict', 'took it from prose')
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
      machine.openBare(at, 'document', blank ? undefined : 'dropped the think block')
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

export interface DocumentOptions {
  readonly selections: readonly Selection[]
  readonly tag: string
  /** Whether a block begins with a document, or may begin with anything else. */
  readonly needsPayload: boolean
  readonly sink: ItemSink
}

/** Begins documents, at a tag or at a bracket. */
export interface DocumentMachine {
  /** The block of a tag that opens at `from`. */
  openBlock(from: number): void
  /** What begins with the bracket at `from`; `why` is undefined if it is the first thing of the input. */
  openBare(from: number, kind: GateKind, why: string | undefined): void
}

/**
 * Goes through a document of any size and hands out the elements that are selected, each as it closes. Only the
 * element under way is held. Here it is found out whether there is a document, and where it begins; the rest is
 * for its containers.
 *
 *     <json> ```json {"summary":"…","issues":[{"a":1},{"a":2}]}</json>
 *           ^^^^^^^^^ before          the containers
 */
export function documentMachine(scan: Scan, options: DocumentOptions): DocumentMachine {
  const { tape } = scan
  const { selections, needsPayload, sink } = options
  const tags = new EndTags(scan, options.tag)
  const containers = containerReader(scan, { selections, tags, sink })
  let doc: DocumentState

  const steps: Readonly<Record<Stage, () => Step>> = {
    gate: passGate,
    before: findStart,
    ...containers.steps,
  }

  const inside: Inside = {
    keep() {
      if (doc.stage === 'gate') return doc.from
      return doc.stage === 'before' ? Math.min(doc.at, tape.end) : containers.keep()
    },
    look() {
      const { emitted } = scan
      for (;;) {
        const step = steps[doc.stage]()
        if (step !== 'on') return step === 'left'
        // The turn may be over.
        if (scan.emitted !== emitted) return true
      }
    },
    finish() {
      const begun = doc.stage !== 'gate' && doc.stage !== 'before'
      scan.leave(begun ? containers.finish() : tape.end)
    },
  }

  //  see [1] and {"a":1}
  //      ^^      ^^       gate: as much as tells prose from a document
  function passGate(): Step {
    const limit = scan.limit(doc.from)
    for (; doc.at < Math.min(limit, tape.end); doc.at++) {
      const opens = doc.judge?.(scan.byte(doc.at) ?? 0)
      if (opens === undefined) continue
      if (!opens) return leave(doc.at)
      // The bytes behind the bracket are read again, as what they are.
      doc.at = doc.from
      return containers.begin(doc)
    }
    return tape.end < limit ? 'wait' : leave(limit)
  }

  //  <json> ```json {
  //        ^^^^^^^^^  before
  function findStart(): Step {
    for (; doc.at < tape.end; doc.at++) {
      const byte = scan.byte(doc.at)
      if (isBlank(byte)) continue
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return containers.begin(doc)
      if (needsPayload) return leave(doc.at)
      if (byte === LESS) {
        const tag = tags.at(doc.at, tape.end, doc.block)
        if (tag === undefined) return 'wait'
        if (tag) return leave(doc.at)
      }
      doc.why = 'took the first object'
    }
    return 'wait'
  }

  function leave(position: number): 'left' {
    scan.leave(position)
    return 'left'
  }

  return {
    openBlock(from) {
      const at = from + tags.opener.length
      doc = new DocumentState({
        from,
        origin: tape.origin(from),
        at,
        block: true,
        judge: undefined,
        why: undefined,
      })
      scan.enter(inside)
    },
    openBare(from, kind, why) {
      const judge = gate(kind, scan.byte(from) ?? 0)
      doc = new DocumentState({ from, origin: tape.origin(from), at: from + 1, block: false, judge, why })
      scan.enter(inside)
    },
  }
}
