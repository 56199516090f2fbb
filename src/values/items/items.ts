import { clip, type Note } from '../../base/fault.ts'
import type { Sink } from '../../base/stage.ts'
import type { Frame } from '../../frames/frame.ts'
import { Scan } from '../../frames/scan.ts'
import { feed } from '../../frames/scan-driver.ts'
import { isOnlyStructure } from '../../json/after-value.ts'
import type { ChangeKind } from '../../repair/change.ts'
import type { Channel, Chunk } from '../../text/chunk.ts'
import type { Rules } from '../attempt.ts'
import { climb, climbStrictly, type Miss } from '../ladder.ts'
import { isLateThought } from '../last-resort.ts'
import { badOf, goodOf, nothingOf, tooLongOf } from '../make-outcome.ts'
import type { Outcome } from '../outcome.ts'
import type { OutcomeSink } from '../pick.ts'
import type { UnmatchedText } from '../unmatched-text.ts'
import { DocumentMachine, documentFinder } from './documents.ts'
import type { ElementPiece, ItemSink } from './element-walk.ts'
import { type Selection, selectionsOf } from './item-paths.ts'

interface ItemOptions {
  readonly rules: Rules
  readonly label: string | undefined
  readonly unmatched: UnmatchedText
  readonly selections: readonly Selection[]
  /** Only blocks of this tag; undefined for `<json>` blocks and bare documents. */
  readonly tag: string | undefined
  readonly maxFrame: number
  /** Outcomes to emit before the rest waits for `more()`. */
  readonly turn: number | undefined
}

/** The stage for `items`. Invalid paths throw at once, before any byte flows. */
export function elementsOf(paths: string | readonly string[]) {
  const selections = selectionsOf(paths)
  return (options: Omit<ItemOptions, 'selections'>) => itemStage({ ...options, selections })
}

/**
 * Emits the selected elements of documents that are too large to be held: for each document in the input,
 * or each block of the tag, one outcome for each element, as soon as it closes. A broken element goes
 * through the ladder like any payload; the elements after it follow, if it is known where it ends.
 */
function itemStage(options: ItemOptions): (next: OutcomeSink<unknown>) => Required<Sink<Chunk>> {
  return (next) => {
    let items: Items | undefined
    let ended = false

    function more(): boolean {
      if (items?.more()) return true
      if (ended) {
        items?.close()
        next.end()
      }
      ended = false
      return false
    }

    return {
      write(chunk) {
        if (chunk.channel === 'exit') return
        items ??= itemsOf(chunk.channel, options, next)
        items.write(chunk.bytes)
      },
      end() {
        items ??= itemsOf('stdout', options, next)
        items.end()
        ended = true
        if (options.turn === undefined) more()
      },
      more,
    }
  }
}

interface Items extends Required<Sink<Uint8Array>> {
  /** End of input: reports it if nothing was found. */
  close(): void
}

function itemsOf(channel: Channel, options: ItemOptions, next: OutcomeSink<unknown>): Items {
  const { rules, label, unmatched, selections, tag, maxFrame } = options
  // The text between documents is not needed here.
  const scan = new Scan(channel, { write: forget, end() {} }, { maxFrame, text: false })
  let found = false
  /** What is before this offset is a thought. */
  let from = 0
  /** Set until the next outcome tells that what was emitted before is a thought. */
  let late: Note | undefined

  const sink: ItemSink = {
    found() {
      found = true
      unmatched.drop()
    },
    guessed(piece) {
      const frame = frameOf(piece)
      const result = climbStrictly(frame.text, rules)
      if (!result.ok && !result.strict) return false
      if (result.ok) emit(goodOf(frame, result, piece.why))
      // JSON that was rejected may still be an envelope: the ladder decides.
      else judge(frame, piece.why)
      return true
    },
    item(piece) {
      judge(frameOf(piece), piece.why)
    },
    itemLost(piece) {
      sink.found()
      emit(badOf(frameOf(piece), LOST, label))
    },
    itemCut(piece) {
      const frame: Frame = { ...frameOf(piece), open: true }
      // Half a number may look like a whole one, so only values with brackets can be closed.
      const closes = rules.partial && /^[{[]/.test(frame.text)
      const result = closes ? climb(frame.text, rules) : CUT
      if (result.ok && result.incomplete) emit(goodOf(frame, result, piece.why))
      else emit(badOf(frame, result.ok ? CUT : { ...result, code: 'TRUNCATED' }, label))
    },
    itemTooLong(path, from) {
      const at = scan.tape.origin(from)
      const note: Note = {
        code: 'FRAME_TOO_LONG',
        message: `the item ${clip(path, 80)} at byte ${at} is longer than maxFrame (${maxFrame} bytes) and is skipped`,
        at,
      }
      const frame: Frame = {
        kind: 'object',
        channel,
        from: at,
        to: at + maxFrame,
        text: '',
        path,
        notes: [note],
      }
      emit(tooLongOf(frame, note, label))
    },
    documentCut(path, from, end) {
      sink.found()
      const to = scan.tape.origin(end)
      emit(badOf({ kind: 'object', channel, from, to, text: '', path, open: true }, CUT, label))
    },
  }

  function emit(outcome: Outcome<unknown>): void {
    scan.emitted++
    next.write(late ? { ...outcome, notes: [...outcome.notes, late] } : outcome)
    late = undefined
  }

  /** What is before a lone closer was a thought. */
  function forget(frame: Frame): void {
    if (!isLateThought(frame)) return
    if (next.forget) next.forget()
    else if (found) late = frame.notes?.[0]
    found = false
    from = frame.to
  }

  function judge(frame: Frame, why: ChangeKind | undefined): void {
    const result = climb(frame.text, rules)
    if (result.ok) emit(goodOf(frame, result, why))
    else emit(badOf(frame, result, label))
  }

  function frameOf({ from, to, path }: ElementPiece): Frame {
    const { tape } = scan
    const text = scan.decode(from, to)
    const notes = scan.notesOf({ kind: 'object', text, textFrom: from, textTo: to })
    // Written out: a spread costs more than the JSON.parse of a small element.
    const frame: Frame = {
      kind: 'object',
      channel,
      from: tape.origin(from),
      to: to > from ? tape.origin(to - 1) + 1 : tape.origin(from),
      text,
      path,
    }
    return notes ? { ...frame, notes } : frame
  }

  const needsPayload = tag === undefined
  const machine = new DocumentMachine(scan, { selections, tag: tag ?? 'json', needsPayload, sink })
  const { check, think } = rules
  const outside = documentFinder(scan, machine, { tag, loose: check !== undefined, think })
  return {
    ...feed(scan, outside, options.turn ?? Number.POSITIVE_INFINITY),
    close() {
      const text = found || unmatched.size() > MAX_STRUCTURE ? '' : unmatched.bytes().toString('utf8')
      const frame: Frame = { kind: 'object', channel, from: 0, to: unmatched.size(), text }
      const result = isOnlyStructure(text) ? climb(text, { ...rules, root: 'any' }) : undefined
      if (result && !result.ok && result.code === 'INVALID_JSON') emit(badOf(frame, result, label))
      else if (!found) {
        const nothing = nothingOf(outside.blank ? 'EMPTY' : 'NO_MATCH', channel, unmatched, label)
        emit({ ...nothing, frame: { ...nothing.frame, from } })
      }
    },
  }
}

/** A longer input that is nothing but brackets is not read again. */
const MAX_STRUCTURE = 4096

/** The document broke off: no rung was tried, and none could help. */
const CUT: Miss = { ok: false, code: 'TRUNCATED', detail: '', notes: [], strict: false, repaired: false }
/** What follows may be inside it, so nothing more is emitted. */
const LOST: Miss = {
  ok: false,
  code: 'INVALID_JSON',
  detail: 'its end cannot be known',
  notes: [],
  strict: false,
  repaired: false,
}
