import {
  asText,
  type Engine,
  type EngineFrame,
  isRecord,
  type ReaderOptions,
  type Say,
} from '../events/engine.ts'
import { fits } from '../events/record.ts'
import { tryParse } from '../values/parse.ts'
import { AnswerText } from './answer-text.ts'
import { isLog, loggedError, logLine } from './api-errors.ts'
import type { Program } from './command-line.ts'
import { tokenParts } from './token-parts.ts'

export const iflowProgram: Program = {
  names: 'iflow @iflow-ai/iflow-cli',
  blind: 'cost toolCalls',
}

/**
 * iFlow: text, in three layers, each of which works without the others. Lines that a pattern matches (0.7),
 * blocks of JSON (0.8), and the rest, which is the answer (0.3 to 0.6). `<Execution Info>` ends the run and
 * can be on either stream.
 */
export const iflow: Engine = {
  name: 'iflow',
  parser: 'iflow_text',
  cut: { stdout: 'text', stderr: 'text', pty: 'text', blocks: ['Execution Info'] },
  about: 'iflow -p; 0.5, rebuilt from its write templates, not run',
  shape: (frame) => frame.label === 'Execution Info' && (isRecord(frame.value) || isAlone(frame)),
  open(limits) {
    const run = new IflowRun(limits)
    return { read: (frame, say) => run.read(frame, say), end: (say) => run.end(say), over: () => run.isOver }
  },
}

/** Log files are read in steps of this many bytes, so that stderr may be ahead of a longer stdout. */
const STEP = 65_536

class IflowRun {
  readonly #answer: AnswerText
  /** Lines of stderr: the answer, if no other channel has one. */
  readonly #aside: AnswerText
  #info: EngineFrame | undefined
  /** The block on stderr was reported when it was read. */
  #told = false
  /** The answer has begun: what looks like a notice may now be the model's words. */
  #answering = false
  /** A line has named the session. */
  #known = false
  /** Where stdout has been read to. */
  #size = 0

  constructor(limits: ReaderOptions) {
    this.#answer = new AnswerText(limits, 0, true)
    this.#aside = new AnswerText(limits, 0, true)
  }

  /** A block ends the text so far; more text may follow. */
  get isOver(): boolean {
    return (
      this.#info !== undefined || this.#answer.frames.findLast(({ blank }) => !blank)?.label !== undefined
    )
  }

  read(frame: EngineFrame, say: Say): boolean | 'kept' {
    const onStderr = frame.channel === 'stderr'
    if (frame.label !== undefined && (onStderr || this.#isLast(frame))) return this.#readBlock(frame, say)
    const plain = frame.label === undefined
    if (plain && !(this.#answering && !onStderr) && readNotice(frame, say)) {
      this.#known = true
      return true
    }
    if (plain && readError(frame, say)) return true
    if (onStderr) return this.#readStderr(frame, say)
    if (!frame.blank && !this.#answering) {
      this.#answering = true
      this.#aside.giveBack(say)
    }
    if (frame.channel === 'stdout') this.#size = frame.to
    return this.#answer.keep(frame, say, plain && namedSession(frame) !== undefined)
  }

  end(say: Say): void {
    const answer = this.#answer
    const last = answer.frames.findLastIndex(({ blank }) => !blank)
    // The model can print such a block too: it counts only if stderr has none, and then the last one
    // does. One on the same line as other text counts only at the end: elsewhere it is a quote.
    if (!this.#told)
      this.#info ??= answer.takeLast(
        (frame, index) =>
          frame.label !== undefined && (isAlone(frame) || index === last || endsLine(answer.frames, index)),
      )
    // The session is reported first: it starts the conversation.
    if (!this.#info && !this.#told && !this.#known) {
      const line = answer.takeLast((frame, index) => index === last && namedSession(frame) !== undefined)
      if (line) sayAbout(line, say).session(namedSession(line))
    }
    this.#finish(say)
  }

  /**
   * Whether a block on stdout ends the turn when it is read: on lines of its own, outside any fence, with all
   * that the CLI writes into it. The model may quote any other.
   */
  #isLast(frame: EngineFrame): boolean {
    if (!isAlone(frame) || !fits(frame.value, 'session-id:text tokenUsage:record')) return false
    const fences = this.#answer.frames.filter(({ text }) => /^\s{0,3}(?:```|~~~)/.test(text.slice(0, 6)))
    return fences.length % 2 === 0
  }

  #readBlock(frame: EngineFrame, say: Say): true | 'kept' {
    if (this.#info) say.giveBack(this.#info)
    this.#info = frame
    // All may be on stderr; but only logs there are no answer, and stdout may be late.
    const isSilent =
      this.#answer.isBlank && this.#aside.frames.every(({ text, blank }) => blank || isLog(text))
    if (isSilent || this.#size >= STEP) return 'kept'
    this.#finish(say)
    this.#told = true
    return true
  }

  /** Reports the answer, and the block that ends it. */
  #finish(say: Say): void {
    const info = this.#info
    this.#info = undefined
    if (info) sayAbout(info, say).session(sessionOf(info))
    const goesOn = this.#told && !this.#answer.isBlank
    const ended = info !== undefined || this.#told
    if (this.#answer.isBlank) this.#aside.speak(say, false, ended)
    else this.#aside.giveBack(say)
    this.#answer.speak(say, false, ended)
    if (info) readInfo(info, say)
    // What came late belongs to the turn that the block has ended.
    else if (goesOn) say.ended(END)
  }

  /** The model does not write to stderr, unless stdout has no answer. */
  #readStderr(frame: EngineFrame, say: Say): false | 'kept' {
    if (this.#answering || this.#told || logLine.test(frame.text.slice(0, 100))) return false
    return this.#aside.keep(frame, say, true)
  }
}

const END = '</Execution Info>'

/** True if the marks of a block are on lines of their own. */
function isAlone({ glue, text }: EngineFrame): boolean {
  return glue === undefined && text.startsWith('\n')
}

/** True if only the opener follows an answer without LF: a sentence goes on with a blank or colon. */
function endsLine(frames: readonly EngineFrame[], index: number): boolean {
  const { glue, text, open, value } = frames[index]!
  const apart = glue === '' && text.startsWith('\n') && text.endsWith('\n')
  const goesOn = [' ', '\t', ':'].includes(frames[index - 1]?.text.at(-1) ?? ' ')
  return apart && !goesOn && !open && isRecord(value) && frames[index + 1]?.glue === undefined
}

/** Reports about a frame that was kept; a JSON block that parses is more certain than a pattern. */
function sayAbout(frame: EngineFrame, say: Say): Say {
  say.about(frame)
  say.confidence(isRecord(frame.value) ? 0.8 : 0.7)
  return say
}

function readNotice(frame: EngineFrame, say: Say): boolean {
  const head = frame.text.slice(0, 500)
  const resumed = (frame.channel === 'stderr' ? loggedNotice : notice).exec(head)?.[1]
  const id = resumed ?? namedSession(frame)
  if (id === undefined || !/\d/.test(id.slice(0, 200))) return false
  say.confidence(0.7)
  say.session(id)
  if (resumed !== undefined) say.status('resumed')
  return true
}

/** `ℹ️  Resuming session session-… (6 messages loaded)`, whole or in part, alone on its line. */
const notice =
  /^(?:ℹ\ufe0f? {1,2})?(?:Resum|Continu|Restor)(?:ing|ed) (?:from )?(?:session|conversation):? ["'`]?([\w-]{8,100})["'`]?(?:\.{1,3}|…)?(?: \([^()]{1,60}\))?\.?$/iu

/** The model does not write to stderr, and a log line may begin with its time and level. */
const loggedNotice =
  /\b(?:Resum|Continu|Restor)(?:ing|ed) (?:from )?(?:session|conversation):? ["'`]?([\w-]{8,100})["'`]?(?:\.{1,3}|…)?(?: \([^()]{1,60}\))?\.?$/iu

/** The id on a line that names the session: `session-id: …`, `"session-id": "…",`. */
function namedSession({ text }: EngineFrame): string | undefined {
  const id = sessionLine.exec(text.slice(0, 300))?.[1]
  return id !== undefined && /\d/.test(id) ? id : undefined
}

const sessionLine = /^\W{0,8}session[-_ ]?id\W{1,4}([\w-]{8,100})\W{0,3}$/i

function readError(frame: EngineFrame, say: Say): boolean {
  const head = frame.text.slice(0, 500)
  // On stdout a line that starts with "Error" may be the answer; as the whole answer it is an error.
  if (frame.channel === 'stdout') return false
  const isTool = /^Error executing tool \S+:/.test(head)
  const logged = frame.channel === 'stderr' && /^(\w*Error|Failed|Exception)\b/.test(head)
  const failure = frame.channel === 'stderr' ? loggedError(head, true) : undefined
  if (!isTool && !logged && failure === undefined) return false
  say.confidence(0.7)
  say.error(head, isTool ? 'warning' : 'error', { alone: failure !== undefined })
  return true
}

function sessionOf(frame: EngineFrame): unknown {
  const { value } = contentOf(frame)
  if (isRecord(value)) return value['session-id']
  const { text: inner } = frame
  const head = inner.slice(0, 4096)
  return (
    /"session-id"\s*:\s*"([^"]{1,200})"/.exec(head)?.[1] ??
    /session-id\s*[:=]\s*([\w-]{8,100})/.exec(head)?.[1]
  )
}

function readInfo(frame: EngineFrame, say: Say): void {
  const { open } = frame
  const { value, mended } = contentOf(frame)
  sayAbout(frame, say)
  if (isRecord(value)) {
    say.fields(
      value,
      'session-id conversation-id assistantRounds executionTimeMs tokenUsage:record terminationReason:text',
    )
    const reason = asText(value['terminationReason'])
    const usage = value['tokenUsage']
    const tokens = isRecord(usage) ? tokenParts(usage) : undefined
    say.status('execution_info', { usage, tokens, stats: value, ...(reason && { reason }) })
    if (mended) say.warning('OUTPUT_REPAIRED_GENERIC', 'the Execution Info was repaired')
  } else say.status('execution_info')
  if (open && !isRecord(value)) say.turn('cut', 'the Execution Info has no end')
  else {
    say.ended(END)
    if (isRecord(value)) return
    say.warning('INVALID_JSON', 'the Execution Info could not be read: its tokens are missing')
    say.giveBack(frame)
  }
}

/** What is in the block; broken JSON, or JSON in a fence, is repaired. */
function contentOf({ value, text: inner, open }: EngineFrame): {
  readonly value: unknown
  readonly mended: boolean
} {
  if (isRecord(value) || open) return { value, mended: false }
  const read = tryParse(inner)
  return { value: read.ok ? read.value : undefined, mended: read.ok }
}
