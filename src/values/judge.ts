import type { Note } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import type { Sink } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import { opensAs, opensInProse } from '../frames/opening-bracket.ts'
import { pastThought } from '../frames/thought-dialects.ts'
import { lostPayload } from '../frames/too-long.ts'
import { beginsWithKey, isMember } from '../frames/within.ts'
import { endsInBraces, endsInString, isOnlyStructure, isRestOfWhole } from '../json/after-value.ts'
import { isFewWords } from '../repair/bare-words.ts'
import type { ChangeKind } from '../repair/change.ts'
import { mend } from '../repair/search.ts'
import { skipBlanks } from '../repair/tolerant-reader.ts'
import { bomAt, isBlank, isBracket } from '../text/characters.ts'
import type { Rules } from './attempt.ts'
import { hasQuotedKey, isInside, isPayloadFence, isTorn } from './candidates.ts'
import { cutOpener } from './cut-opener.ts'
import { callbackArgument } from './envelope.ts'
import {
  brokenAround,
  climb,
  climbStrictly,
  continuesAt,
  hasVariables,
  type Miss,
  type Pass,
} from './ladder.ts'
import { isLateThought, looseFrames, looseMatch } from './last-resort.ts'
import { badOf, goodOf, nothingOf, tooLongOf } from './make-outcome.ts'
import type { Outcome } from './outcome.ts'
import { EXPLICIT, IMPLICIT, IN_FENCE, type OutcomeSink, ranked, rankOf } from './pick.ts'
import type { UnmatchedText } from './unmatched-text.ts'

export interface JudgeOptions {
  readonly rules: Rules
  readonly label: string | undefined
  /** The text to show if nothing is found; undefined if the bytes of the input are not available. */
  readonly unmatched: UnmatchedText | undefined
  /** `values({lines})`: a line that does not begin like JSON is noise, unless every line must be a record. */
  readonly lines: boolean | 'strict'
  /** `values({tag})`: the only tag that counts. */
  readonly tag?: string | undefined
  /** The whole input may be one document: false if only lines, or blocks of a tag, count. */
  readonly document: boolean
  /** Whether outcomes come at the end of the input anyway, so that the start may be held until then. */
  readonly patient: boolean
  /** Whether the caller asked for an outcome; without it, every outcome counts. */
  readonly wanted?: ((outcome: Outcome<unknown>) => boolean) | undefined
}

/**
 * Decides what each frame is: a tag, a line or a json fence is a payload, valid or not; an object in prose is
 * one only if it is JSON, can be repaired, or passes the schema; everything else is prose. At the end, an
 * input without any payload gives one outcome that says so.
 */
export function judgeStage(options: JudgeOptions): (next: OutcomeSink<unknown>) => Sink<Frame> {
  return (next) => new Judge(options, next)
}

class Judge implements Sink<Frame> {
  readonly #options: JudgeOptions
  readonly #rules: Rules
  readonly #unmatched: UnmatchedText | undefined
  readonly #label: string | undefined
  readonly #next: OutcomeSink<unknown>
  /** The frame that may turn out to be the whole input. */
  #held: Frame | undefined
  /** What is before this offset is a thought. */
  #from = 0
  /** Set until the next outcome tells that what was emitted before is a thought. */
  #late: Note | undefined
  #found = false
  /** Where the last outcome ends. */
  #end = 0
  #blank = true
  #channel: Frame['channel'] = 'stdout'
  /** Frames after one that is not JSON, which count only if the input is not one broken document. */
  #queued: Frame[] | undefined
  /** A think block was skipped before the first frame. */
  #thinkBefore = false
  #started = false
  /** The input begins with `"key":`, like a document without its bracket: it is not read by wider rules. */
  #inMembers = false
  /** The last bracket was the start of something broken: what looks like its inside is not emitted. */
  #broken = false
  /** The end of the last object whose keys have no double quotes and that goes on where it seemed to end. */
  #tornTo = -1
  /**
   * The first array in prose where an object is wanted, or whose content the schema rejects: reported if
   * there is nothing else to report.
   */
  #rejected: Outcome<unknown> | undefined

  constructor(options: JudgeOptions, next: OutcomeSink<unknown>) {
    this.#options = options
    this.#rules = options.rules
    this.#unmatched = options.unmatched
    this.#label = options.label
    this.#next = next
  }

  write(frame: Frame): void {
    this.#channel = frame.channel
    if (isLateThought(frame)) {
      this.#forget(frame)
      return
    }
    if (this.#queued && frame.from > this.#rules.maxRepair) this.#settleQueued(false)
    if (!this.#started && !frame.first && !frame.blank) this.#holdStart(frame)
    if (frame.first) {
      this.#started = true
      this.#held = frame
      this.#thinkBefore = !this.#blank
      this.#blank = false
      if (frame.broken !== undefined) this.#release(frame)
      return
    }
    if (frame.kind !== 'text' || !frame.blank) {
      if (!this.#queued) this.#release(frame)
      this.#blank = false
    }
    if (this.#queued) this.#queued.push(frame)
    else this.#judge(frame)
  }

  end(): void {
    const unmatched = this.#unmatched
    this.#settleQueued(true)
    if (this.#held) this.#wholeInput(this.#held)
    if (this.#found && unmatched) this.#cutAtOpener(unmatched)
    if (!this.#found && unmatched) this.#brokenStart(unmatched)
    if (!this.#found && this.#rejected) this.#emit(ranked(this.#rejected, 0))
    if (!this.#found && unmatched) this.#lastResort(unmatched)
    const code = this.#blank && !this.#held ? 'EMPTY' : 'NO_MATCH'
    if (!this.#found) {
      const nothing = nothingOf(code, this.#channel, unmatched, this.#label)
      this.#emit({ ...nothing, frame: { ...nothing.frame, from: this.#from } })
    }
    this.#next.end()
  }

  /** The input ends where a value may begin: what was found is a draft of it. */
  #cutAtOpener(unmatched: UnmatchedText): void {
    const { document, tag = 'json', lines } = this.#options
    const opener = lines ? undefined : cutOpener(unmatched.tail(), tag, document)
    const to = unmatched.size()
    const from = to - Bytes.byteLength(opener?.text ?? '')
    if (opener === undefined || this.#end > from) return
    const { text, marked } = opener
    const frame: Frame = { kind: 'object', channel: this.#channel, from, to, text, open: true }
    this.#emit(ranked(badOf(frame, cutAt(text.length), this.#label), marked ? EXPLICIT : IMPLICIT))
  }

  #emit(outcome: Outcome<unknown>): void {
    const { wanted } = this.#options
    if (wanted && !wanted(outcome)) return
    this.#found = true
    this.#end = outcome.frame.to
    this.#unmatched?.drop()
    const late = this.#late
    this.#late = undefined
    this.#next.write(
      late ? ranked({ ...outcome, notes: [...outcome.notes, late] }, rankOf(outcome)) : outcome,
    )
  }

  /** What is before a lone closer was a thought. If it was emitted, a note on the next outcome says so. */
  #forget({ to, notes }: Frame): void {
    if (this.#next.forget) this.#next.forget()
    else if (this.#found) this.#late = notes?.[0]
    this.#from = to
    this.#held = undefined
    this.#queued = undefined
    this.#rejected = undefined
    this.#found = false
    this.#started = false
    this.#inMembers = false
    this.#broken = false
    this.#tornTo = -1
    this.#blank = false
  }

  #good(frame: Frame, pass: Pass, how?: ChangeKind): void {
    this.#emit(ranked(goodOf(frame, pass, how), EXPLICIT))
  }

  #bad(frame: Frame, miss: Miss): void {
    this.#emit(ranked(badOf(frame, miss, this.#label), EXPLICIT))
  }

  #emitProse(outcome: Outcome<unknown>): void {
    this.#emit(ranked(outcome, outcome.frame.in_fence ? IN_FENCE : IMPLICIT))
  }

  #payload(frame: Frame, how?: ChangeKind): void {
    const result = climb(frame.text, this.#rules)
    if (result.ok) this.#good(frame, result, how)
    else this.#bad(frame, result)
  }

  #fence(frame: Frame): void {
    if (isPayloadFence(frame.label, frame.text)) this.#payload(frame, 'took a fence body')
    else this.#otherFence(frame)
  }

  /** A fence that is not marked as JSON counts if it is JSON as it is. */
  #otherFence(frame: Frame): void {
    const rules = this.#rules
    const strict = climbStrictly(frame.text, rules)
    if (!strict.ok && (!strict.strict || (rules.root === 'object' && strict.code === 'ROOT_NOT_OBJECT')))
      return
    // It may be an envelope.
    const result = strict.ok ? strict : climb(frame.text, rules)
    if (result.ok) this.#emitProse(goodOf(frame, result, 'took a fence body'))
    else this.#emitProse(badOf(frame, result, this.#label))
  }

  /**
   * A tag that is never closed, with words in it or nothing. After a block it is the last one, cut; alone it
   * is prose if there is nothing to be found in it.
   */
  #unclosedTag(frame: Frame): void {
    const { text, aside } = frame
    if (aside) {
      // A sentence that ends has only named the tag.
      const isCutSentence = this.#found && this.#options.patient && !/[.!?。！？)"'`]\s*$/.test(text)
      if (isCutSentence) this.#emit(ranked(badOf(frame, cutAt(text.length), this.#label), 0))
      return
    }
    const result = climb(text, this.#rules)
    if (result.ok) this.#good(frame, result)
    else if (isPayloadBody(text)) this.#bad(frame, result)
    else if (this.#found || result.code === 'TRUNCATED') this.#bad(frame, cutAt(text.length))
    else if (result.strict || result.repaired) this.#bad(frame, result)
  }

  #line(frame: Frame): void {
    const rules = this.#rules
    if (this.#options.lines === 'strict' || isBracketed(frame.text)) this.#payload(frame)
    else {
      // A scalar is a record only if `root: 'any'` was set, or if the schema passes it.
      const result = climbStrictly(frame.text, rules)
      if (result.ok && (rules.scalars || rules.check)) this.#good(frame, result)
    }
  }

  #objectInProse(frame: Frame): void {
    const rules = this.#rules
    if (frame.aside) return
    if (frame.attached && (this.#broken || isMember(this.#textBefore(frame.from, 200)))) return
    const quoted = hasQuotedKey(frame.text)
    if (beginsWithWord(frame.text)) return
    // Once something was found, the text before it is no longer kept.
    if (
      !quoted &&
      (this.#found ? this.#broken : isInside(this.#textBefore(frame.from, 4096)) || this.#isAfterTorn(frame))
    )
      return
    this.#broken = true
    const torn = !(quoted && frame.open) && isTorn(frame.text)
    if (!quoted && (frame.broken !== undefined || torn)) this.#tornTo = frame.to
    if (torn) {
      if (quoted) this.#emitProse(badOf(frame, continuesAt(frame.text, frame.text.length), this.#label))
      return
    }
    const array = frame.text[0] === '['
    if (rules.root === 'object' && array) {
      this.#arrayForObject(frame, quoted)
      return
    }
    if (frame.broken !== undefined) {
      if (quoted) this.#emitProse(badOf(frame, this.#brokenAt(frame, frame.broken), this.#label))
      return
    }
    // An array of anything but objects, or an object whose first key is not in quotes, is mostly prose.
    const sure = array ? /^\[\s{0,4096}\{/.test(frame.text.slice(0, 4100)) && quoted : quoted
    const result = sure || rules.check ? climb(frame.text, rules) : climbStrictly(frame.text, rules)
    if (frame.in_fence && hasVariables(result)) return
    if (result.ok) {
      this.#broken = false
      this.#emitProse(goodOf(frame, result, 'took an object from prose'))
    } else if ((result.strict || (sure && result.code === 'MAX_DEPTH')) && (sure || !array)) {
      this.#broken = false
      this.#emitProse(badOf(frame, result, this.#label))
    } else if (sure && (result.repaired || rules.check || (frame.open && result.code === 'TRUNCATED'))) {
      this.#broken = !result.repaired
      this.#emitProse(badOf(frame, result, this.#label))
    } else if (array && result.strict) {
      this.#broken = false
      if (isAboutParts(result)) this.#rejected ??= badOf(frame, result, this.#label)
    }
  }

  /** An array in prose where an object is wanted: none of its elements is one. */
  #arrayForObject(frame: Frame, quoted: boolean): void {
    if (this.#rejected || !quoted || frame.broken !== undefined) return
    const result = climb(frame.text, this.#rules)
    if (result.ok || !(result.strict || result.repaired || (frame.open && result.code === 'TRUNCATED')))
      return
    this.#rejected = badOf(frame, result, this.#label)
  }

  /** The larger value goes on at a byte after the frame: only that is sure to have arrived. */
  #brokenAt({ text, to }: Frame, place: number): Miss {
    const kept = this.#found ? undefined : this.#unmatched?.bytes()
    const rest = kept && place < kept.length ? kept.toString('latin1', to, place + 1) : ''
    if (rest !== '') return { ...continuesAt(text + rest, text.length), place }
    const detail = `byte ${place} continues after the end of the value`
    return { ok: false, code: 'INVALID_JSON', detail, place, notes: [], strict: false, repaired: false }
  }

  /** At most `size` bytes before `from`, if they are still kept. */
  #textBefore(from: number, size: number): string {
    const kept = this.#found ? undefined : this.#unmatched?.bytes()
    return kept && from <= kept.length ? kept.toString('latin1', Math.max(0, from - size), from) : ''
  }

  /** Whether it may be inside an object that seemed to end too early: no blank line is between. */
  #isAfterTorn({ from }: Frame): boolean {
    const unmatched = this.#unmatched
    if (this.#tornTo < 0 || !unmatched || from > unmatched.bytes().length) return false
    const between = unmatched.bytes().toString('latin1', Math.max(this.#tornTo, from - 4096), from)
    return !/\n[ \t\r]*\n/.test(between)
  }

  /** Something follows the first frame, so it was not the whole input, unless it is broken. */
  #release(next: Frame): void {
    const frame = this.#held
    this.#held = undefined
    if (!frame) return
    const strict = climbStrictly(frame.text, this.#rules)
    const isBroken = frame.broken !== undefined || !(strict.ok || strict.strict)
    if (isBracketed(frame.text) && (this.#options.patient || isBroken) && this.#mayBeWhole(frame)) {
      this.#held = frame
      this.#queued = []
    } else this.#firstInProse(frame, next)
  }

  /** Whether the input may be one broken document whose first bracket seemed to close too early. */
  #mayBeWhole(frame: Frame): boolean {
    // After a thought in which something was found, the text is no longer kept.
    const kept = this.#unmatched?.bytes().length ?? 0
    return frame.to <= Math.min(kept, this.#rules.maxRepair)
  }

  /** Right before an object, `[1,2]{"a":1}`, an array is a value, too; before words it may be noise. */
  #firstInProse(frame: Frame, next: Frame | undefined): void {
    const loose = this.#rules.check !== undefined || (this.#rules.scalars && next?.kind === 'object')
    if (frame.text === '') this.#broken = true
    else if (opensInProse(frame.text, loose)) this.#objectInProse(frame)
    else this.#broken = isBracketed(frame.text)
  }

  /** The input has ended, or is too long for one broken document: its frames are judged. */
  #settleQueued(ended: boolean): void {
    const rules = this.#rules
    const unmatched = this.#unmatched
    const frames = this.#queued
    const first = this.#held
    if (!frames || !first || !unmatched) return
    this.#queued = undefined
    this.#held = undefined
    if (ended && unmatched.size() <= rules.maxRepair) {
      const whole = wholeFrame(first, unmatched)
      const strict = climbStrictly(first.text, rules)
      const isOne = (strict.ok || strict.strict) && first.broken === undefined
      const result = isOne ? strict : climb(whole.text, rules)
      if (result.ok && !isOne && !isFromProse(result)) {
        this.#good(whole, result, this.#thinkBefore ? 'dropped a think block' : undefined)
        return
      }
      const end = first.text.length
      if (isOne && strict.ok && rules.scalars && isArray(whole.text.slice(end), rules)) {
        const note: Note = { code: 'AMBIGUOUS', message: 'an array follows the value; the first was taken' }
        this.#emitProse(
          goodOf(first, { ...strict, notes: [...strict.notes, note] }, 'took an object from prose'),
        )
        return
      }
      if (end === 0 && !result.ok && frames.some((frame) => this.#closesMore(frame))) {
        this.#bad(whole, result)
        return
      }
      if (end > 0 && isOver(whole.text, end)) {
        this.#wholeInput({ ...first, to: whole.to, text: whole.text })
        return
      }
      const goesOn =
        first.broken === undefined ? isRestOfWhole(whole.text, end) || endsInString(first.text) : !result.ok
      if (end > 0 && !first.open && goesOn) {
        this.#emitProse(badOf(first, this.#whyBroken(first, whole.text, result), this.#label))
        this.#broken = true
        for (const frame of frames) this.#judge(frame)
        return
      }
    }
    this.#firstInProse(
      first,
      frames.find(({ blank }) => !blank),
    )
    for (const frame of frames) this.#judge(frame)
  }

  //  {"a":[⏎```⏎[1]⏎}
  //                 ^ closes the document, not something in the fence
  /** Whether a fence that never ends has a bracket too many. */
  #closesMore({ kind, open, text }: Frame): boolean {
    const result = kind === 'fence' && open ? climb(text, this.#rules) : undefined
    return result?.ok === true && result.changes.some((change) => change.kind === 'dropped a brace')
  }

  /** Why an input is no document, though its first bracket is closed. */
  #whyBroken(first: Frame, whole: string, result: Pass | Miss): Miss {
    const end = first.text.length
    if (!result.ok && endsInBraces(whole, end)) return result
    const around = brokenAround(whole, end)
    return first.broken === undefined || around.at !== end ? around : this.#brokenAt(first, first.broken)
  }

  /** Nothing follows. Only a think block may have been skipped. */
  #wholeInput(frame: Frame): void {
    if (!isBracketed(frame.text)) {
      this.#wholeScalar(frame)
      return
    }
    const result = climb(frame.text, this.#rules)
    if (result.ok) this.#good(frame, result, this.#thinkBefore ? 'dropped a think block' : undefined)
    else if (!frame.open || result.strict || result.repaired || beginsLikeDocument(frame.text))
      this.#bad(frame, result)
  }

  /** Nothing was found, but the input begins like a document: it is broken JSON, not prose. */
  #brokenStart(text: UnmatchedText): void {
    if (!this.#options.document) return
    const all = text.bytes().toString('utf8', this.#from)
    const whole = all.slice(pastThought(all))
    const from = this.#from + Bytes.byteLength(all.slice(0, all.length - whole.length))
    const frame: Frame = { kind: 'object', channel: this.#channel, from, to: text.size(), text: whole }
    if (text.size() > text.bytes().length) {
      if (beginsBroken(whole)) this.#bad({ ...frame, text: '' }, TOO_LONG)
      return
    }
    const { root, check } = this.#rules
    const scalar =
      root === 'any' &&
      (/^[\s\ufeff\0]{0,4096}["'`‘’“”\\(\d+.TFNI-]/.test(whole.slice(0, 4200)) ||
        (check !== undefined && isFewWords(whole.trim())))
    const called = callbackArgument(whole) !== undefined
    if (!scalar && !called && !isOnlyStructure(whole) && !beginsBroken(whole)) return
    const result = climb(whole, this.#rules)
    if (result.ok) {
      // Valid JSON would have been found; here only unusual blanks can have hidden it.
      if (!scalar || (result.changes.length > 0 && result.changes.every(isSpelling)))
        this.#good(frame, result)
    } else if (!scalar && !called && !result.strict && !result.repaired && !isBeforeWords(whole, result))
      this.#bad(frame, result)
  }

  /** Nothing was found: the text is read once more, by wider rules. */
  #lastResort(text: UnmatchedText): void {
    if (!this.#options.document || this.#inMembers) return
    for (const frame of looseFrames(text.bytes(), this.#channel, this.#rules)) {
      const result = climb(frame.text, this.#rules)
      if (!result.ok) continue
      const pass = { ...result, notes: [...result.notes, looseMatch()] }
      this.#emitProse(goodOf(frame, pass, 'took an object from prose'))
    }
  }

  /** A string, a number or a literal. Anything else is prose, unless another spelling makes it JSON. */
  #wholeScalar(frame: Frame): void {
    const strict = climbStrictly(frame.text, this.#rules)
    // A text may hold the object that is wanted.
    const result = strict.ok || !strict.strict ? strict : climb(frame.text, this.#rules)
    if (result.ok) this.#good(frame, result, this.#thinkBefore ? 'dropped a think block' : undefined)
    else if (result.strict) this.#bad(frame, result)
    else if (this.#unmatched) this.#brokenStart(this.#unmatched)
  }

  #judge(frame: Frame): void {
    if (frame.kind === 'text') {
      const tooLong = frame.notes?.find(lostPayload)
      if (!tooLong) return
      const rank = lostPayload(tooLong) === 'object' ? IMPLICIT : EXPLICIT
      this.#emit(ranked(tooLongOf(frame, tooLong, this.#label), rank))
      return
    }
    if (frame.kind === 'object') {
      this.#objectInProse(frame)
      return
    }
    this.#broken = false
    if (frame.kind === 'fence') this.#fence(frame)
    else if (frame.kind === 'line') this.#line(frame)
    else if (frame.open && !isBracketed(frame.text)) this.#unclosedTag(frame)
    else this.#payload(frame)
  }

  /** The input begins with a bracket that a fence line or a tag interrupted: it may be one document. */
  #holdStart(frame: Frame): void {
    this.#started = true
    if (!this.#unmatched || !this.#options.document) return
    if (frame.from > this.#rules.maxRepair || frame.notes?.some(lostPayload)) return
    const bytes = this.#unmatched.bytes()
    let from = this.#from
    while (isBlank(bytes[from]) || bytes[from] === 0 || bomAt(bytes, from) === 3)
      from += bomAt(bytes, from) || 1
    this.#inMembers = beginsWithKey(bytes.toString('utf8', from, Math.min(from + 300, bytes.length)))
    if (!isBracket(bytes[from])) return
    this.#broken = true
    // Only what is before the end of this frame is sure to have arrived, however the input is split.
    const end = Math.min(from + 300, frame.kind === 'text' ? frame.to : frame.from)
    if (!opensAs('document', bytes.toString('utf8', from, end))) return
    this.#held = { kind: 'object', channel: frame.channel, from, to: from, text: '' }
    this.#queued = []
  }
}

/** The whole input as one frame, from the bracket that it begins with. */
function wholeFrame(first: Frame, unmatched: UnmatchedText): Frame {
  const bytes = unmatched.bytes()
  const { kind, channel, from } = first
  return { kind, channel, from, to: bytes.length, text: bytes.toString('utf8', from) }
}

/** Whether the whole text is an array. */
function isArray(text: string, rules: Rules): boolean {
  return /^\s*\[/.test(text) && climbStrictly(text, rules).ok
}

/** Whether an input in which nothing was found begins like a document, maybe after comments. */
function beginsBroken(text: string): boolean {
  const start = skipBlanks(text.slice(0, 8200), 0)
  return (
    /^[{[]\s{0,4096}[{["']/.test(text.slice(start, start + 4200)) ||
    (/^\s*(?:\/[/*]|#)/.test(text.slice(0, 4200)) && /^[{[]/.test(text.slice(start, start + 1)))
  )
}

//  ["a", "b"] is the output
//             ^ at
/** Whether an array is complete, and only words follow it: the last resort looks at it. */
function isBeforeWords(text: string, { at, broken }: Miss): boolean {
  if (at === undefined || broken?.expected !== 'the end of the input') return false
  return /^\s*\[/.test(text) && /^(?!["'“”‘’`{}[\]])[^"“”`{}[\]]*$/.test(text.slice(at))
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

function isBracketed(text: string): boolean {
  let at = 0
  while (at < text.length && (text.charCodeAt(at) <= 32 || text.charCodeAt(at) === 0xfeff)) at++
  return isBracket(text.charCodeAt(at))
}

/** Whether a text that the input cut begins like JSON, or like something that is almost JSON. */
function beginsLikeDocument(text: string): boolean {
  const head = text.slice(0, MAX_HEAD)
  if (opensAs('strict', head) || /^\[\s{0,99}[["]/.test(head.slice(0, 110))) return true
  return mend(head, true).kind === 'mended'
}

function cutAt(at: number): Miss {
  const detail = 'expected a value'
  return { ok: false, code: 'TRUNCATED', detail, at, notes: [], strict: false, repaired: false }
}

/** Whether a body begins with a fence. */
function isPayloadBody(text: string): boolean {
  return /^\s*(?:```|~~~)/.test(text)
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

//  [test] Hi.     [figs, nuts] are     [true, false]
//   ^ a word       ^ words              ^ a literal
/** Whether it is an array in prose that begins with a word: its first letter may be that of a literal. */
function beginsWithWord(text: string): boolean {
  return /^\[\s{0,99}(?!(?:true|false|null|none|nan)\s{0,99}[,\]])[A-Za-z]/i.test(text.slice(0, 256))
}
