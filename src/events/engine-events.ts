import { type Code, clip, codes } from '../base/fault.ts'
import { Drafts } from './drafts.ts'
import { type Call, type EngineFrame, isRecord, type Say, type Speaker, type StatusFacts } from './engine.ts'
import type { EventData, Severity, ToolData } from './event.ts'
import { gatherEvidence } from './evidence.ts'
import { memory } from './memory.ts'
import { OpenMessages } from './open-messages.ts'
import type { Found } from './payload.ts'
import { AT_END, isAfter, type Moment, PerSource, type Position } from './position.ts'
import type { tally } from './tally.ts'
import { tokenCounter } from './tokens.ts'
import { unknownRecords } from './unknown-records.ts'
import type { Range, Writer } from './write.ts'

/** Confidence in a plain protocol record. */
const SURE = 0.95
const LOW = 0.7
const MAX_RAW = 4096

interface SpeechOptions {
  readonly writer: Writer
  readonly tally: ReturnType<typeof tally>
  readonly doneMarker: string
  readonly maxFrame: number
  /**
   * Finds the payloads of a message. `when` is set if the message is one of the run's own and complete: the
   * last of them is its result.
   */
  readonly payloads: (text: string, when: Moment | undefined, enveloped: boolean) => Found
  readonly artifact: Say['artifact']
}

/** Turns what an engine reports into events, and gathers the evidence for the end. */
export function speech(options: SpeechOptions) {
  const { writer, tally, doneMarker, maxFrame } = options
  let confidence = SURE
  /** The current frame, and whether an event is about it: a frame without any event is kept as raw. */
  let current: EngineFrame | undefined
  let spoke = false
  let drifted = false
  /** The kept frame that the engine is reporting about. */
  let kept: EngineFrame | undefined
  let unknown = false
  let nameless = 0
  const evidence = gatherEvidence()
  const strangers = unknownRecords()
  let stranger: ReturnType<typeof strangers.found>
  /** The position of the current frame in the run, and the number of things reported. */
  let here: Position = AT_END
  let said = 0
  /**
   * The last frame of the pipes and of the PTY: what an engine reports about kept lines is not after that.
   */
  let lastOfPipes = AT_END
  let lastOfPty = AT_END
  /** The engine's signal that its turn has ended, reported after everything else in its frame. */
  let ended: { readonly signal: string; readonly when: Moment; readonly range: Range | undefined } | undefined
  /** The last turn that was reported to wait for the user, and when the agent was last active. */
  let waiting: Moment | undefined
  let worked: Moment | undefined
  const open = new OpenMessages(maxFrame)
  /** The last complete message of the run itself. */
  const whole = new PerSource<Moment>()
  const drafts = new Drafts(maxFrame)
  /** Calls that were started. */
  const calls = memory<true>(() => 0)
  const tokens = tokenCounter()

  const now = (): Moment => ({ at: here, nth: ++said })

  /** The agent says or does something, so the next end of a turn is a new one. */
  const work = (): Moment => {
    const when = now()
    if (!worked || isAfter(when, worked)) worked = when
    return when
  }

  const write: Writer['write'] = (type, data, sure) => {
    // A frame that only ends an open message has no event of its own: that event is about the pieces.
    if (writer.place() === current) spoke = true
    if (!type.startsWith('raw.') && !type.startsWith('diagnostic.')) strangers.knew()
    writer.write(type, data, sure)
  }

  const diagnose = (code: Code, message: string, severity: Severity = 'warning') =>
    write(
      'diagnostic.parser.warning',
      { code, message: clip(message, 300), severity, confidence },
      confidence,
    )

  const raw = (text: string, sure = confidence) => {
    const channel = writer.place()?.channel ?? 'stdout'
    const line = text.length > MAX_RAW ? text.slice(0, MAX_RAW) : text
    write(`raw.${channel}`, line === text ? { line } : { line, truncated: true }, sure)
  }

  /** Below 0.7 the reader gets a warning, and the raw text next to the guess. */
  const guessed = (text: string) => {
    if (confidence >= LOW) return
    diagnose('LOW_CONFIDENCE_PARSE', codes.LOW_CONFIDENCE_PARSE)
    raw(text)
  }

  const final = (id: string, text: string, more: Speaker, when: Moment) => {
    // A subagent's words are not the run's: they end nothing and are not a result.
    const own = more.parent === undefined
    const complete = own && !more.incomplete
    const enveloped = more.enveloped === true
    const { payloads, fault } = options.payloads(text, complete ? when : undefined, enveloped)
    const last = payloads.at(-1)
    const done =
      own &&
      payloads.some(
        ({ value }) => isRecord(value) && Object.hasOwn(value, doneMarker) && value[doneMarker] === true,
      )
    if (complete) {
      if (done) evidence.done(when)
      whole.set(when, when)
      drafts.forget(when)
    } else if (own && isLast(when)) drafts.hold({ text, enveloped, done, when })
    const before = confidence
    // A JSON block that parses makes a guess about prose more certain.
    if (last && confidence < LOW) confidence = 0.8
    write(
      'agent.message.final',
      {
        message_id: id,
        text,
        ...(last && { structured_payload: last.value, repair_level: last.repair_level }),
        ...(more.incomplete && { incomplete: true as const }),
        ...(more.parent !== undefined && { parent_call_id: more.parent }),
      },
      confidence,
    )
    guessed(text)
    if (fault) diagnose(fault, `the last payload of the message ${id}: ${codes[fault]}`)
    confidence = before
  }

  /** Whether no complete message of the run came after this moment. */
  const isLast = (when: Moment) => whole.both().every((other) => isAfter(when, other))

  const closeOpen = (id: string, more: Speaker) => {
    const message = open.take(id)
    if (!message) return
    const here = writer.place()
    writer.about(message.range, true)
    const cut = message.cut ? { incomplete: true } : undefined
    const speaker = { ...message.more, ...more, ...cut }
    // Its position is that of its pieces: the record that closes it may be anywhere.
    final(id, message.parts.join(''), speaker, message.when)
    writer.about(here, true)
  }

  /** Closes the oldest message, to make room for another. */
  const closeOldest = (id: string) => {
    const message = 'the open messages grew past maxFrame; the oldest is closed'
    tally.noise('open messages', 'FRAME_TOO_LONG', confidence, message)
    closeOpen(id, { incomplete: true })
  }

  const newId = (): string => {
    for (;;) {
      const id = `message-${++nameless}`
      if (!open.has(id)) return id
    }
  }

  /** Reports once that the turn waits for the user. A turn that is done, or failed, does not. */
  const tellTurn = () => {
    const turn = ended
    if (!turn || !evidence.isWaiting(turn.when)) return
    ended = undefined
    if (waiting && !(worked && isAfter(worked, waiting))) return
    waiting = turn.when
    if (turn.range !== writer.place()) writer.about(turn.range, true)
    const known = { ...evidence.said(), exit_code: null, signal: null }
    const data = { status: 'awaiting_user_input', reason: turn.signal, evidence: known }
    write('lifecycle.run.status', data, confidence)
  }

  const call = (type: 'tool.call.started' | 'tool.call.completed' | 'tool.call.failed', of: Call) => {
    checkText('the id of a call', of?.id)
    checkText('the name of a call', of.name)
    work()
    if (type === 'tool.call.started') {
      calls.set(of.id, true)
    } else if (!calls.take(of.id)) {
      write(
        'tool.call.started',
        toolData({ id: of.id, name: of.name, input: of.input, parent: of.parent }),
        confidence,
      )
    }
    write(type, toolData(of), confidence)
  }

  const status = (name: string, { tokens: own, tokensSoFar, ...more }: StatusFacts) => {
    const counts = own ? tokens.add(own) : tokensSoFar && tokens.soFar(tokensSoFar)
    // Without any counts, the sum of the run is unknown: there is nothing to report.
    const known = counts && Object.keys(counts).length > 0 ? counts : undefined
    write('lifecycle.run.status', told({ status: name, ...more, tokens: known }), confidence)
  }

  const say: Say = {
    session(id, facts = {}) {
      if (typeof id !== 'string' || id === '') return
      if (writer.session(id)) status('started', facts)
    },
    status: (name, more = {}) => status(name, more),
    user(text) {
      checkText('the text of say.user', text)
      write('user.message', { text }, confidence)
    },
    delta(id, text, more = {}) {
      checkText('the id of say.delta', id)
      checkText('the text of say.delta', text)
      write(
        'agent.message.delta',
        { message_id: id, text, ...(more.parent !== undefined && { parent_call_id: more.parent }) },
        confidence,
      )
      const cut = open.add(id, { text, place: writer.place(), more, when: work() }, closeOldest)
      if (cut) diagnose('FRAME_TOO_LONG', 'a message grew past maxFrame; its final text is cut')
    },
    message(id, text, more = {}) {
      if (id !== undefined) checkText('the id of say.message', id)
      if (text === undefined) {
        if (id !== undefined) closeOpen(id, more)
        return
      }
      checkText('the text of say.message', text)
      if (id !== undefined) open.take(id)
      final(id ?? newId(), text, more, work())
    },
    newId,
    reasoning(id, text) {
      if (id !== undefined) checkText('the id of say.reasoning', id)
      checkText('the text of say.reasoning', text)
      work()
      write('agent.reasoning.summary', { message_id: id ?? `reasoning-${++nameless}`, text }, confidence)
    },
    started: (of) => call('tool.call.started', of),
    completed: (of) => call('tool.call.completed', of),
    failed: (of) => call('tool.call.failed', of),
    // A claim becomes an event at the end, or never: it does not count as an event of its frame.
    artifact: options.artifact,
    error(message, severity = 'error', { retryable } = {}) {
      if (severity === 'fatal') evidence.failed(now(), message)
      const data = { code: 'ENGINE_ERROR' as const, message: clip(message, 2000), severity, confidence }
      write('diagnostic.engine.error', retryable === undefined ? data : { ...data, retryable }, confidence)
    },
    warning: (code, message = codes[code], severity = 'warning') => diagnose(code, message, severity),
    begun() {
      evidence.begun(work())
    },
    goesOn() {
      evidence.wentOn(work())
    },
    ended(signal) {
      const when = now()
      evidence.ended(when, signal)
      ended = { signal, when, range: writer.place() }
    },
    truncated(reason) {
      evidence.truncated()
      diagnose('TRUNCATED', `the answer was cut: ${reason}`)
    },
    unknownType(name) {
      unknown = true
      tally.type(name)
    },
    fields(record, known) {
      for (const key in record) {
        if (!Object.hasOwn(record, key) || knows(known, key)) continue
        tally.field(key)
        // For a frame that was kept, the raw record is written here; else after the engine's other events.
        if (kept && !drifted) raw(kept.text, SURE)
        drifted = true
      }
    },
    confidence(value) {
      confidence = value
    },
    about(range) {
      writer.about(range, true)
      here = range.channel === 'pty' ? lastOfPty : lastOfPipes
      // For the current frame, the raw record is written after the engine's other events.
      kept = 'text' in range && range !== current ? (range as EngineFrame) : undefined
      drifted = false
    },
    giveBack(kept) {
      const here = writer.place()
      writer.about(kept, true)
      strangers.saw(kept)
      unread(kept)
      writer.about(here, true)
    },
  }

  /** A frame that the engine does not read: kept as raw, with a warning for the first of its kind. */
  const unread = (given: EngineFrame) => {
    const before = confidence
    confidence = given.blank ? SURE : 0.3
    raw(given.text)
    const kind = given.value === undefined ? 'line' : 'record'
    const { channel } = given
    const message = `a ${kind} on ${channel} was not understood and is kept as raw`
    if (!given.blank && !unknown) tally.noise(`${channel} ${kind}`, 'RAW_LINE', 0.3, message)
    confidence = before
  }

  return {
    say,
    /** Lets the engine read one frame, and keeps it as raw if the engine does not understand it. */
    frame(
      read: (frame: EngineFrame, say: Say) => boolean | 'kept',
      given: EngineFrame,
      position: Position,
    ): boolean | 'kept' {
      writer.about(given)
      current = given
      here = position
      if (given.channel === 'pty') lastOfPty = position
      else lastOfPipes = position
      spoke = drifted = unknown = false
      kept = undefined
      confidence = given.mended ? 0.8 : SURE
      const before = ended
      const understood = read(given, say)
      const silent = understood === true && (!spoke || drifted || unknown)
      // The engine may have reported about a frame that it kept.
      if ((silent || understood === false) && writer.place() !== given) writer.about(given, true)
      if (understood === false) {
        strangers.saw(given)
        unread(given)
      } else if (silent) raw(given.text, SURE)
      unknown = false
      current = undefined
      if (ended !== before) tellTurn()
      return understood
    },
    /** A frame that is not shown to the engine. */
    unread(given: EngineFrame) {
      writer.about(given)
      unread(given)
    },
    warn: diagnose,
    /** Lets the engine report about what it kept. */
    last(end: ((say: Say) => void) | undefined) {
      writer.about(undefined)
      confidence = SURE
      unknown = false
      here = AT_END
      end?.(say)
      // Also a turn whose beginning only the PTY has: until that arrived, the failure before it seemed to be
      // its own.
      tellTurn()
      writer.about(undefined)
    },
    /** End of input: closes what is still open. */
    end() {
      confidence = SURE
      for (const id of open.ids()) closeOpen(id, { incomplete: true })
      for (const { text, enveloped, done, when } of drafts.left()) {
        if (!isLast(when)) continue
        options.payloads(text, when, enveloped)
        if (done) evidence.done(when)
      }
      stranger = strangers.found()
      writer.about(stranger?.first, true)
      if (stranger) diagnose('ENGINE_UNKNOWN', stranger.message)
      writer.about(undefined)
    },
    // If no record was understood, it is unknown whether the last one was cut.
    evidence: () => (stranger ? { ...evidence.said(), truncated: false } : evidence.said()),
    sawTruncation: evidence.truncated,
    tokens: tokens.sum,
  }
}

/**
 * An engine in JavaScript can say anything: what would break the schema of the records is thrown back at it
 * (PROFILE_FAILED).
 */
function checkText(what: string, value: unknown): void {
  if (typeof value !== 'string') throw new TypeError(`${what} must be a string, but is ${typeof value}`)
}

/** Built key by key: a call is the most frequent record, and conditional spreads are slow. */
function toolData(of: Call): ToolData {
  const data: { -readonly [K in keyof ToolData]: ToolData[K] } = { call_id: of.id, name: of.name }
  if (of.input !== undefined) data.input = of.input
  if (of.output !== undefined) data.output = of.output
  if (of.exit_code !== undefined) data.exit_code = of.exit_code
  if (of.error !== undefined) data.error = of.error
  if (of.duration_ms !== undefined) data.duration_ms = of.duration_ms
  if (of.parent !== undefined) data.parent_call_id = of.parent
  return data
}

type StatusData = EventData['lifecycle.run.status']

/** Leaves out keys without a value. */
function told(facts: { [K in keyof StatusData]: StatusData[K] | undefined }): StatusData {
  for (const key in facts)
    if (facts[key as keyof StatusData] === undefined) delete facts[key as keyof StatusData]
  return facts as StatusData
}

const knownSets = new Map<string, ReadonlySet<string>>()

/** The lists are literals in the engines, so there are only a few of them to cache. */
function knows(list: string, key: string): boolean {
  let set = knownSets.get(list)
  if (!set) {
    set = new Set(list.split(' '))
    knownSets.set(list, set)
  }
  return set.has(key)
}
