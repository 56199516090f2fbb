import type { Note } from '../base/fault.ts'
import type { Sink, Stage } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import { opensAs, opensInProse } from '../frames/opening-bracket.ts'
import { stringEnd } from '../json/balanced.ts'
import type { ChangeKind } from '../repair/change.ts'
import { endsInString } from '../repair/ends-in-string.ts'
import { mend } from '../repair/search.ts'
import { isStructureAt } from '../repair/structure.ts'
import { skipBlanks } from '../repair/syntax.ts'
import { bomAt, CLOSE_BRACE, CLOSE_BRACKET, isBlank, isBracket, QUOTE } from '../text/characters.ts'
import type { Rules } from './attempt.ts'
import { hasQuotedKey } from './candidates.ts'
import { climb, climbStrictly, continuesAt, type Miss, type Pass } from './ladder.ts'
import { badOf, goodOf, nothingOf, tooLongOf } from './make-outcome.ts'
import type { Outcome } from './outcome.ts'
import { isPayloadFence } from './payload-fence.ts'
import type { UnmatchedText } from './unmatched-text.ts'

export interface JudgeOptions {
  readonly rules: Rules
  readonly label: string | undefined
  /** The text to show if nothing is found; undefined if the bytes of the input are not available. */
  readonly unmatched: UnmatchedText | undefined
  /** `values({lines})`: a line that does not begin like JSON is noise, unless every line must be a record. */
  readonly lines: boolean | 'strict'
  /** The whole input may be one document: false if only lines, or blocks of a tag, count. */
  readonly document: boolean
  /** Whether outcomes come at the end of the input anyway, so that the start may be held until then. */
  readonly patient: boolean
  /** Called before an outcome is emitted that is an object in prose: no tag, fence or document around it. */
  readonly inProse?: ((outcome: Outcome<unknown>) => void) | undefined
  /** Whether the caller asked for an outcome; without it, every outcome counts. */
  readonly wanted?: ((outcome: Outcome<unknown>) => boolean) | undefined
}

/**
 * Decides what each frame is: a tag, a line or a json fence is a payload, valid or not; an object in prose is
 * one only if it is JSON, can be repaired, or passes the schema; everything else is prose. At the end, an
 * input without any payload gives one outcome that says so.
 */
export function judgeStage(options: JudgeOptions): Stage<Frame, Outcome<unknown>> {
  const { rules, unmatched, label, lines, document, patient, inProse, wanted } = options
  return (next) => {
    /** The frame that may turn out to be the whole input. */
    let held: Frame | undefined
    let found = false
    let blank = true
    let channel: Frame['channel'] = 'stdout'
    /**
     * Frames after a first one that is not JSON: they count only if the whole input is not one broken
     * document.
     */
    let queued: Frame[] | undefined
    /** A think block was skipped before the first frame. */
    let thinkBefore = false
    let started = false
    /**
     * The input begins with `"key":`, like a document that lost its first bracket: no object in it is
     * emitted.
     */
    let inMembers = false
    /** The last bracket was the start of something broken: what looks like its inside is not emitted. */
    let broken = false
    /**
     * The end of the last object whose keys have no double quotes and that goes on where it seemed to end.
     */
    let tornTo = -1
    /**
     * The first array in prose whose content the schema rejects: reported if there is nothing else to report.
     */
    let rejected: Outcome<unknown> | undefined

    const emit = (outcome: Outcome<unknown>) => {
      if (wanted && !wanted(outcome)) return
      found = true
      unmatched?.drop()
      next.write(outcome)
    }
    const good = (frame: Frame, pass: Pass, how?: ChangeKind) => emit(goodOf(frame, pass, how))
    const bad = (frame: Frame, miss: Miss) => emit(badOf(frame, miss, label))

    const emitProse = (outcome: Outcome<unknown>) => {
      inProse?.(outcome)
      emit(outcome)
    }

    function payload(frame: Frame, how?: ChangeKind): void {
      const result = climb(frame.text, rules)
      if (result.ok) good(frame, result, how)
      else bad(frame, result)
    }

    function fence(frame: Frame): void {
      const begun = /^json[5c]?[ \t]*(?=[{[])/i.exec(frame.label ?? '')
      if (begun) {
        //  ```json {"a":
        //          ^ the payload begins on the line of the fence
        const text = `${frame.label!.slice(begun[0].length)}\n${frame.text}`
        payload({ ...frame, text }, 'took a fence body')
      } else if (isPayloadFence(frame.label, frame.text)) payload(frame, 'took a fence body')
      else if (rules.check) {
        const result = climbStrictly(frame.text, rules)
        if (result.ok) good(frame, result, 'took a fence body')
      }
    }

    function line(frame: Frame): void {
      if (lines === 'strict' || isBracketed(frame.text)) payload(frame)
      else {
        // A scalar is a record only if `root: 'any'` was set, or if the schema passes it.
        const result = climbStrictly(frame.text, rules)
        if (result.ok && (rules.scalars || rules.check)) good(frame, result)
      }
    }

    function objectInProse(frame: Frame): void {
      if (inMembers || (frame.attached && (broken || isMember(frame)))) return
      const quoted = hasQuotedKey(frame.text)
      // Once something was found, the text before it is no longer kept.
      if (!quoted && (found ? broken : isAfterQuote(frame) || isAfterTorn(frame))) return
      broken = true
      const torn = !(quoted && frame.open) && endsInString(frame.text)
      if (!quoted && (frame.broken !== undefined || torn)) tornTo = frame.to
      if (torn) {
        if (quoted) emitProse(badOf(frame, continuesAt(frame.text, frame.text.length), label))
        return
      }
      const array = frame.text[0] === '['
      if (rules.root === 'object' && array) return
      if (frame.broken !== undefined) {
        if (quoted) emitProse(badOf(frame, brokenAt(frame, frame.broken), label))
        return
      }
      // An array of anything but objects, or an object whose first key has no double quotes, is most often
      // prose.
      const sure = array ? /^\[\s{0,4096}\{/.test(frame.text.slice(0, 4100)) && quoted : quoted
      const result = sure || rules.check ? climb(frame.text, rules) : climbStrictly(frame.text, rules)
      if (result.ok) {
        broken = false
        emitProse(goodOf(frame, result, 'took an object from prose'))
      } else if (result.strict && (sure || !array)) {
        broken = false
        emitProse(badOf(frame, result, label))
      } else if (sure && (result.repaired || rules.check || (frame.open && result.code === 'TRUNCATED'))) {
        broken = !result.repaired
        emitProse(badOf(frame, result, label))
      } else if (array && result.strict) {
        broken = false
        if (isAboutParts(result)) rejected ??= badOf(frame, result, label)
      }
    }

    /**
     * The larger value continues at a byte after the frame. Only that byte is sure to have arrived, however
     * the input is split.
     */
    function brokenAt({ text, to }: Frame, place: number): Miss {
      const kept = found ? undefined : unmatched?.bytes()
      const rest = kept && place < kept.length ? kept.toString('latin1', to, place + 1) : ''
      if (rest !== '') return { ...continuesAt(text + rest, text.length), place }
      const detail = `byte ${place} continues after the end of the value`
      return { ok: false, code: 'INVALID_JSON', detail, place, notes: [], strict: false, repaired: false }
    }

    /**
     * Whether it is the value of a quoted key without an opening bracket before it: then it is part of
     * something broken.
     */
    function isMember({ from }: Frame): boolean {
      if (found || !unmatched || from > unmatched.bytes().length) return false
      return /"\s{0,99}:\s{0,99}$/.test(unmatched.bytes().toString('latin1', Math.max(0, from - 200), from))
    }

    /**
     * Whether a quote precedes it on its line, or an odd number of backticks that are not its own: then an
     * object without quotes of its own is part of a string.
     */
    function isAfterQuote({ from }: Frame): boolean {
      if (found || !unmatched || from > unmatched.bytes().length) return false
      const before = unmatched.bytes().toString('latin1', Math.max(0, from - 4096), from)
      const line = before.slice(before.lastIndexOf('\n') + 1)
      return line.includes('"') || (!line.endsWith('`') && line.split('`').length % 2 === 0)
    }

    /**
     * Whether it may be the inside of an object that seemed to end too early: no blank line is between the
     * two.
     */
    function isAfterTorn({ from }: Frame): boolean {
      if (tornTo < 0 || !unmatched || from > unmatched.bytes().length) return false
      const between = unmatched.bytes().toString('latin1', Math.max(tornTo, from - 4096), from)
      return !/\n[ \t\r]*\n/.test(between)
    }

    /** Something follows the first frame, so it was not the whole input, unless it is broken. */
    function release(): void {
      const frame = held
      held = undefined
      if (!frame) return
      const strict = climbStrictly(frame.text, rules)
      if (isBracketed(frame.text) && (patient || !(strict.ok || strict.strict)) && mayBeWhole(frame)) {
        held = frame
        queued = []
      } else firstInProse(frame)
    }

    /** Whether the input may be one broken document whose first bracket seemed to close too early. */
    function mayBeWhole(frame: Frame): boolean {
      return unmatched !== undefined && frame.to <= rules.maxRepair
    }

    function firstInProse(frame: Frame): void {
      if (frame.text === '') broken = true
      else if (opensInProse(frame.text, rules.check !== undefined)) objectInProse(frame)
      else broken = isBracketed(frame.text)
    }

    /**
     * The input has ended, or is too long to be one broken document: it was one, or its frames are judged one
     * by one.
     */
    function settleQueued(ended: boolean): void {
      const frames = queued
      const first = held
      if (!frames || !first || !unmatched) return
      queued = undefined
      held = undefined
      if (ended && unmatched.size() <= rules.maxRepair) {
        const whole = wholeFrame(first, unmatched)
        const strict = climbStrictly(first.text, rules)
        const result = strict.ok || strict.strict ? strict : climb(whole.text, rules)
        if (result.ok && !strict.ok && !isFromProse(result)) {
          good(whole, result, thinkBefore ? 'dropped a think block' : undefined)
          return
        }
        const end = first.text.length
        if (end > 0 && isOver(whole.text, end)) {
          wholeInput({ ...first, to: whole.to, text: whole.text })
          return
        }
        const goesOn =
          first.broken === undefined ? isRestOfWhole(whole.text, end) || endsInString(first.text) : !result.ok
        if (end > 0 && !first.open && goesOn) {
          bad(first, continuesAt(whole.text, end))
          broken = true
          for (const frame of frames) judge(frame)
          return
        }
      }
      firstInProse(first)
      for (const frame of frames) judge(frame)
    }

    /** Nothing follows. Only a think block may have been skipped. */
    function wholeInput(frame: Frame): void {
      if (!isBracketed(frame.text)) {
        wholeScalar(frame)
        return
      }
      const result = climb(frame.text, rules)
      if (result.ok) good(frame, result, thinkBefore ? 'dropped a think block' : undefined)
      else if (!frame.open || result.strict || result.repaired || beginsLikeDocument(frame.text))
        bad(frame, result)
    }

    /** Nothing was found, but the input begins like a document: it is broken JSON, not prose. */
    function brokenStart(text: UnmatchedText): void {
      if (!document) return
      const whole = text.bytes().toString('utf8')
      if (text.size() > text.bytes().length) {
        if (beginsBroken(whole))
          bad({ kind: 'object', channel, from: 0, to: text.size(), text: '' }, TOO_LONG)
        return
      }
      const scalar =
        rules.root === 'any' && /^[\s\ufeff\0]{0,4096}["'`‘’“”\\\d+.TFNI-]/.test(whole.slice(0, 4200))
      if (!scalar && !beginsBroken(whole)) return
      const result = climb(whole, rules)
      if (result.ok) {
        // Valid JSON would have been found; here only unusual blanks can have hidden it.
        if (!scalar || (result.changes.length > 0 && result.changes.every(isSpelling)))
          good({ kind: 'object', channel, from: 0, to: text.size(), text: whole }, result)
      } else if (!scalar && !result.strict && !result.repaired)
        bad({ kind: 'object', channel, from: 0, to: text.size(), text: whole }, result)
    }

    /**
     * A string, a number or a literal. Anything else is prose, unless a change of its spelling makes it JSON.
     */
    function wholeScalar(frame: Frame): void {
      const result = climbStrictly(frame.text, rules)
      if (result.ok) good(frame, result, thinkBefore ? 'dropped a think block' : undefined)
      else if (result.strict) bad(frame, result)
      else if (unmatched) brokenStart(unmatched)
    }

    function judge(frame: Frame): void {
      if (frame.kind === 'text') {
        const tooLong = frame.notes?.find(isLostPayload)
        if (tooLong) emit(tooLongOf(frame, tooLong, label))
        return
      }
      if (frame.kind === 'object') {
        objectInProse(frame)
        return
      }
      broken = false
      if (frame.kind === 'fence') fence(frame)
      else if (frame.kind === 'line') line(frame)
      else payload(frame)
    }

    /** The input begins with a bracket that a fence line or a tag interrupted: it may be one document. */
    function holdStart(frame: Frame): void {
      started = true
      if (!unmatched || !document || frame.from > rules.maxRepair || frame.notes?.some(isLostPayload)) return
      const bytes = unmatched.bytes()
      let from = 0
      while (isBlank(bytes[from]) || bytes[from] === 0 || bomAt(bytes, from) === 3)
        from += bomAt(bytes, from) || 1
      inMembers = /^"[^"\n]{0,256}"\s{0,9}:/.test(
        bytes.toString('utf8', from, Math.min(from + 300, bytes.length)),
      )
      if (!isBracket(bytes[from])) return
      broken = true
      // Only what is before the end of this frame is sure to have arrived, however the input is split.
      const end = Math.min(from + 300, frame.kind === 'text' ? frame.to : frame.from)
      if (!opensAs('document', bytes.toString('utf8', from, end))) return
      held = { kind: 'object', channel: frame.channel, from, to: from, text: '' }
      queued = []
    }

    const sink: Sink<Frame> = {
      write(frame) {
        channel = frame.channel
        if (queued && frame.from > rules.maxRepair) settleQueued(false)
        if (!started && !frame.first && !frame.blank) holdStart(frame)
        if (frame.first) {
          started = true
          held = frame
          thinkBefore = !blank
          blank = false
          if (frame.broken !== undefined) release()
          return
        }
        if (frame.kind !== 'text' || !frame.blank) {
          if (!queued) release()
          blank = false
        }
        if (queued) queued.push(frame)
        else judge(frame)
      },
      end() {
        settleQueued(true)
        if (held) wholeInput(held)
        if (!found && unmatched) brokenStart(unmatched)
        if (!found && rejected) emitProse(rejected)
        if (!found) emit(nothingOf(blank && !held ? 'EMPTY' : 'NO_MATCH', channel, unmatched, label))
        next.end()
      },
    }
    return sink
  }
}

/** The whole input as one frame, from the bracket that it begins with. */
function wholeFrame(first: Frame, unmatched: UnmatchedText): Frame {
  const bytes = unmatched.bytes()
  const { kind, channel, from } = first
  return { kind, channel, from, to: bytes.length, text: bytes.toString('utf8', from) }
}

/** Whether an input in which nothing was found begins like a document, maybe after comments. */
function beginsBroken(text: string): boolean {
  const start = skipBlanks(text.slice(0, 8200), 0)
  return (
    /^[{[]\s{0,4096}[{["']/.test(text.slice(start, start + 4200)) ||
    (/^\s*(?:\/[/*]|#)/.test(text.slice(0, 4200)) && /^[{[]/.test(text.slice(start, start + 1)))
  )
}

/** Whether only comments and a lone comma follow the first value. */
function isOver(text: string, end: number): boolean {
  const at = skipBlanks(text, end)
  return at >= text.length || (',;'.includes(text[at]!) && skipBlanks(text, at + 1) >= text.length)
}

/** Whether the schema rejects only something inside the value: then `[1]` is not a footnote. */
function isAboutParts({ errors = [] }: Miss): boolean {
  return errors.length > 0 && errors.every(({ path }) => path !== '')
}

function isFromProse(pass: Pass): boolean {
  return pass.changes.some(({ kind }) => kind === 'took an object from prose')
}

/**
 * Whether what follows the first value of a text at `end` belongs to it: structure, or keys and a bracket too
 * many.
 */
function isRestOfWhole(text: string, end: number): boolean {
  if (isStructureAt(text, end)) return true
  const rest = text.slice(end)
  if (!/["'’”\w]\s{0,99}:/.test(rest)) return false
  let depth = 0
  let strings = true
  for (let at = 0; at < rest.length && depth >= 0; at++) {
    const unit = rest.charCodeAt(at)
    if (unit === QUOTE) {
      const close = strings ? stringEnd(rest, at) : -1
      // If one string has no end, none has: searching again for each quote would be quadratic.
      if (close < 0) strings = false
      else at = close
    } else if (isBracket(unit)) depth++
    else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) depth--
  }
  return depth < 0
}

function isBracketed(text: string): boolean {
  let at = 0
  while (at < text.length && (text.charCodeAt(at) <= 32 || text.charCodeAt(at) === 0xfeff)) at++
  return isBracket(text.charCodeAt(at))
}

/** A block that reached its limit may have been the payload; a think block never is. */
function isLostPayload({ code, message }: Note): boolean {
  return code === 'FRAME_TOO_LONG' && !message.startsWith('a think block')
}

/** Whether a text that the input cut begins like JSON, or like something that is almost JSON. */
function beginsLikeDocument(text: string): boolean {
  const head = text.slice(0, MAX_HEAD)
  if (opensAs('strict', head) || /^\[\s{0,99}[["]/.test(head.slice(0, 110))) return true
  return mend(head, true).kind === 'mended'
}

/** How much of a text is read to see whether it begins like a document. */
const MAX_HEAD = 4096

const TOO_LONG: Miss = {
  ok: false,
  code: 'INVALID_JSON',
  detail: 'it begins like a document, is broken, and is too long to be repaired',
  notes: [],
  strict: false,
  repaired: false,
}

/** A change of what a scalar looks like, not of where it was found. */
function isSpelling({ kind }: { readonly kind: string }): boolean {
  return !kind.startsWith('took ')
}
