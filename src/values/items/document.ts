import { type GateKind, gate } from '../../frames/gate.ts'
import type { Inside, Scan } from '../../frames/scan.ts'
import { isBlank, LESS, OPEN_BRACE, OPEN_BRACKET } from '../../json/characters.ts'
import type { ChangeKind } from '../ladder/change.ts'
import { containerReader } from './containers.ts'
import { DocumentState, type Stage, type Step } from './document-state.ts'
import { EndTags } from './end-tags.ts'
import type { ItemSink } from './item-sink.ts'
import type { Selection } from './selection.ts'

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
  openBare(from: number, kind: GateKind, why: ChangeKind | undefined): void
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
      doc.why = 'took an object from prose'
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
