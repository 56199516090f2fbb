import {
  type Engine,
  type EngineFrame,
  isLenient,
  type ReaderOptions,
  type Say,
} from '../../events/engine.ts'
import { fits, Rec } from '../../events/record.ts'
import { AnswerText } from '../answer-text.ts'
import { apiError, errorAnswer, isHint, isLog, isRetry, loggedError } from '../api-errors.ts'
import type { CommandLine, Program } from '../command-line.ts'
import { errorWords } from '../error-text.ts'
import { statsTokens } from '../token-parts.ts'
import { geminiDenial, hasLeast, isEvent, isStreamLine, streamReader, tools } from './stream.ts'

/** First keys of the document, also after other text on its line. */
export const documentKeys = ['session_id', 'response', 'stats']

/** Qwen Code, which is made from Gemini CLI, has these, too. */
export const GEMINI_COMMAND: CommandLine = {
  flags:
    '-d --debug -y --yolo -s --sandbox --screen-reader --raw-output --accept-raw-output-risk --skip-trust --experimental-acp',
  values:
    '-m --model -o --output-format --approval-mode --sandbox-image --fake-responses --record-responses --worktree -w',
  lists:
    '--allowed-tools --allowed-mcp-server-names --include-directories -e --extensions --policy --admin-policy',
  task: '-p --prompt',
  session: '-r --resume --session-id',
  alone: '-i --prompt-interactive --acp',
  next: (options, session) => [...options, '--resume', session],
}

export const geminiProgram: Program = {
  names: 'gemini @google/gemini-cli',
  records: '-o=json|stream-json --output-format=json|stream-json --acp --experimental-acp',
  add: '-o stream-json',
  blind: 'cost',
  command: GEMINI_COMMAND,
  talks: 'gemini --acp',
}

/** Gemini CLI (`gemini -o stream-json | json | text`). The json document can be on stdout or stderr. */
export const gemini: Engine = {
  name: 'gemini',
  parser: 'gemini_json',
  cut: { stdout: 'documents', stderr: 'documents', pty: 'documents', glued: documentKeys, whole: isAnswer },
  about: 'gemini -o stream-json, json or text; 0.61, 0.40, 0.20',
  failures: [['auth', /GEMINI_API_KEY|set an Auth method/]],
  tools,
  denials: geminiDenial,
  shape: (frame) =>
    isOwnDocument(frame.value) ||
    cutSession(frame) !== undefined ||
    (frame.channel !== 'stderr' && isStreamLine(frame.value) && (fits(frame.value, 'type=init') || 'weak')),
  open(limits) {
    const run = new GeminiRun(limits)
    return { read: (frame, say) => run.read(frame, say), end: (say) => run.end(say), over: () => run.isOver }
  },
}

/**
 * Reads one run. Whether its lines are an answer, a stream or text around a document shows only as it goes
 * on, so most of them are kept until then.
 */
class GeminiRun {
  readonly #limits: ReaderOptions
  readonly #answer: AnswerText
  readonly #log = logReader()
  readonly #stream = streamReader()
  /** Records or a document were seen, so plain lines are not the answer. */
  #framed = false
  /** The output is stream-json, where only the stream is the answer: any other document may be quoted. */
  #streaming = false
  /** The best document so far, and whether one was reported when it was read. */
  #best: EngineFrame | undefined
  #told = false
  /**
   * The last document after other text, where the model may have quoted it: it counts if only lines follow
   * that the CLI is known to write; after a start-up line, anything that looks like a log may follow, too.
   */
  #quoted: EngineFrame | undefined
  #afterStart = false
  /** The last error document that names no session: it counts if nothing else is said. */
  #failed: EngineFrame | undefined
  /** The first line of the answer. */
  #first: EngineFrame | undefined
  /** The last `{"response":…}` on stderr: it counts if there is no other answer. */
  #bare: EngineFrame | undefined
  /** The answer has begun, so what looks like a start-up line may be the model's words. */
  #answering = false
  /** The answer is in a fence. */
  #fenced = false

  constructor(limits: ReaderOptions) {
    this.#limits = limits
    this.#answer = new AnswerText(limits, 1, true)
  }

  /** The answer is there, but a better document may follow. */
  get isOver(): boolean {
    return this.#best !== undefined && fits(this.#best.value, 'response:text')
  }

  read(frame: EngineFrame, say: Say): boolean | 'kept' {
    const { value, glue } = frame
    const words = frame.channel !== 'stderr'
    // The line break after a document is not a line.
    if (frame.blank && glue !== undefined && !this.#streaming) return 'kept'
    if (isDocument(value) || (isLenient(frame, this.#limits) && fits(value, LEAST))) {
      if (words && !this.#framed && (this.#fenced || glue !== undefined)) return this.#readText(frame, say)
      if (!this.#streaming) return this.#keepBest(frame, say)
    }
    const session = cutSession(frame)
    if (!this.#streaming && (session !== undefined || isCutResponse(frame))) {
      this.#frame(say, frame)
      say.session(session)
      return false
    }
    if (isErrorDocument(value) && !(words && this.#fenced)) return this.#keepFailed(frame, say)
    if (!words && isBare(value)) return this.#keepBare(frame, say)
    if (!words) return this.#log.read(frame, say, true)
    const lenient = isLenient(frame, this.#limits)
    if (isStreamLine(value) || (lenient && hasLeast(value))) {
      this.#frame(say, frame)
      this.#streaming = true
    }
    if (!this.#framed) return this.#readText(frame, say)
    const line = this.#streaming ? Rec.of(value) : undefined
    return (
      this.#log.read(frame, say, true) ||
      (line !== undefined && (lenient || isEvent(line)) && this.#stream(frame, line, say))
    )
  }

  end(say: Say): void {
    if (this.#best === undefined) this.#takeQuoted()
    if (this.#best === undefined && !this.#framed) this.#takeBare()
    if (this.#bare) say.giveBack(this.#bare)
    if (this.#best) this.#frame(say)
    if (this.#failed) {
      say.about(this.#failed)
      sayFailed(this.#failed, this.#framed || this.#answer.frames.length > 0 ? 'error' : 'fatal', say)
    }
    this.#answer.speak(say)
    if (this.#best && this.#streaming) say.giveBack(this.#best)
    else if (this.#best) readDocument(this.#best, say)
  }

  /**
   * The lines kept so far are not the answer: they are errors of requests, or raw, at their own position. The
   * next reports are about `frame`.
   */
  #frame(say: Say, frame?: EngineFrame): void {
    if (this.#framed) return
    this.#framed = true
    let failed = false
    this.#answer.giveBack(say, (line) => {
      if (line.value !== undefined || loggedError(line.text, true) === undefined) return false
      say.about(line)
      failed = true
      return this.#log.read(line, say, true)
    })
    if (failed && frame) say.about(frame)
  }

  #readText(frame: EngineFrame, say: Say): boolean | 'kept' {
    if (!this.#fenced) {
      if (this.#log.continues(frame)) return false
      if (isStartLine(frame) && !(this.#answering && frame.channel === 'stdout')) {
        this.#afterStart = !this.#quoted || this.#afterStart
        return false
      }
      if (this.#log.read(frame, say, false)) return true
    }
    if (frame.text.startsWith('```') || frame.text.startsWith('~~~')) this.#fenced = !this.#fenced
    if (frame.blank) return this.#answer.keep(frame, say)
    if (this.#answering && !this.#quoted) this.#afterStart = false
    this.#answering = true
    this.#first ??= frame
    if (!this.#fenced && isDocument(frame.value)) this.#quoted = frame
    else if (!this.#isNotice(frame)) this.#quoted = undefined
    return this.#answer.keep(frame, say)
  }

  /** A line of the CLI after the document: on a line of its own, outside any fence. */
  #isNotice(frame: EngineFrame): boolean {
    if (this.#fenced || frame.glue !== undefined) return false
    return isStartLine(frame) || (this.#afterStart && isTagged(frame))
  }

  #keepBest(frame: EngineFrame, say: Say): true | 'kept' {
    if (this.#best === undefined && !this.#told) this.#takeQuoted()
    this.#frame(say, frame)
    // Only the CLI knows these: a document that has them is its last word, and is reported at once.
    if (fits(frame.value, 'response:text stats:record') && !(this.#told && frame.channel === 'stderr')) {
      if (this.#best) say.giveBack(this.#best)
      this.#best = undefined
      this.#told = true
      readDocument(frame, say)
      return true
    }
    if (this.#told) {
      say.giveBack(frame)
      return 'kept'
    }
    const worse = this.#best && rank(this.#best) > rank(frame) ? frame : this.#best
    if (worse !== frame) this.#best = frame
    if (worse) say.giveBack(worse)
    return 'kept'
  }

  #takeQuoted(): void {
    if (this.#quoted) this.#best = this.#answer.takeLast((kept) => kept === this.#quoted)
  }

  #keepBare(frame: EngineFrame, say: Say): 'kept' {
    if (this.#bare) say.giveBack(this.#bare)
    this.#bare = frame
    return 'kept'
  }

  /**
   * All that is not a log is `{"response":…}`, or stderr has that. There a log of something else may look
   * like it, if it has more: that counts only beside nothing.
   */
  #takeBare(): void {
    const lines = this.#answer.frames.filter(({ blank }) => !blank)
    const words = lines.filter((line) => !isTagged(line) && !isLog(line.text))
    if (this.#bare && (lines.length === 0 || (words.length === 0 && fits(this.#bare.value, '#1')))) {
      this.#best = this.#bare
      this.#bare = undefined
    } else if (words.length === 1 && isBare(words[0]!.value))
      this.#best = this.#answer.takeLast((kept) => kept === words[0])
  }

  #keepFailed(frame: EngineFrame, say: Say): true | 'kept' {
    if (this.#framed) return sayFailed(frame, 'error', say)
    if (this.#failed) {
      say.about(this.#failed)
      sayFailed(this.#failed, 'error', say)
    }
    this.#failed = frame
    return 'kept'
  }
}

/** The document of json mode: an answer, or an error. Up to 0.20 it has stats, but no session. */
function isDocument(value: unknown): boolean {
  const document = Rec.of(value, '!type')
  if (!document) return false
  if (!fits(value, 'session_id:text')) return fits(value, 'response:text stats:record')
  // The log of another API may have sessions and responses, too, but with more about each.
  const own = fits(value, 'stats:record') || Object.keys(document.values).every((key) => documentKey.has(key))
  return own && (document.has('response') || fits(value, 'error:record'))
}

/** The document of a named engine may lack its answer. */
const LEAST = '#2 session_id:text stats:record'

const documentKey = new Set(['session_id', 'response', 'stats', 'error'])

/** `{"response":"Hello"}`: the document without its session or its stats, maybe with something else. */
function isBare(value: unknown): boolean {
  return fits(value, 'response:text !type')
}

/** The document of a run that ended well: the last thing the CLI prints, without a line end. */
export function isAnswer(value: unknown): boolean {
  return isDocument(value) && fits(value, 'response:text')
}

/** True for a document that only Gemini can have written. */
function isOwnDocument(value: unknown): boolean {
  return isDocument(value) && (fits(value, 'session_id:text') || fits(value, 'stats.models:record'))
}

/** The session of a json document that was cut off at a pipe buffer: it shows the format. */
function cutSession({ open, text }: EngineFrame): string | undefined {
  const start = open === true ? /^\{\s*"session_id":\s*"([^"]+)",\s*/.exec(text.slice(0, 200)) : null
  const next = text.slice(start?.[0].length)
  // Records of other engines may begin with their session, too.
  const own = ['"response"', '"stats"', '"error"'].some((key) => key.startsWith(next.slice(0, key.length)))
  return start && own ? start[1] : undefined
}

function isCutResponse({ open, text }: EngineFrame): boolean {
  return open === true && /^\{\s*"response":\s*"/.test(text.slice(0, 200))
}

/** A document with a response wins, then stdout before stderr, then the later one. */
function rank({ value, channel }: EngineFrame): number {
  const answers = fits(value, 'response:text') ? 4 : 0
  return answers + (channel === 'stdout' ? 2 : channel === 'pty' ? 1 : 0)
}

function readDocument(frame: EngineFrame, say: Say): void {
  const document = Rec.of(frame.value)!
  say.about(frame)
  say.confidence(0.8)
  say.fields(document.values, 'session_id:text response:text stats:record error:record')
  say.session(document.at('session_id'))
  const stats = document.at('stats')
  const tokens = statsTokens(stats)
  if (stats !== undefined) say.status('result', { stats, tokens })
  const response = document.text('response')
  const error = errorAnswer(response ?? '', tokens?.output)
  if (error !== undefined) say.error(error, 'fatal')
  else if (response !== undefined) {
    say.message(undefined, response, { enveloped: true })
    if (fits(document.values, 'finishReason=MAX_TOKENS')) say.turn('cut', 'MAX_TOKENS')
    say.ended('response document', response)
  }
  if (document.record('error')) say.error(errorWords(document.at('error')) ?? 'the engine failed', 'fatal')
}

/** An error that names no session: the run's own, or an earlier one that was followed by something else. */
function sayFailed(frame: EngineFrame, severity: 'fatal' | 'error', say: Say): true {
  say.confidence(0.8)
  say.error(errorWords(Rec.of(frame.value)?.at('error')) ?? 'the engine failed', severity)
  return true
}

/** Reads what the CLI logs next to its answer: requests that failed, and the stack traces after them. */
function logReader() {
  /** The last line of the channel was such a log, or its trace. */
  const tracing = { stdout: false, stderr: false, pty: false, stdin: false }

  return {
    /**
     * Reports what a line or an error body of the API says; `loose` if no line here is the answer. A retry is
     * a warning. Anything else fails the run if no answer follows.
     */
    read(frame: EngineFrame, say: Say, loose: boolean): boolean {
      const { value, channel } = frame
      const failure = value === undefined ? loggedError(frame.text, loose) : bodyOf(value)
      tracing[channel] = failure !== undefined
      if (failure === undefined) return false
      const retried = isRetry(failure)
      say.confidence(0.7)
      say.error(failure, retried ? 'warning' : 'error', retried ? { retryable: true } : { alone: true })
      return true
    },
    /**
     * True for a line of the stack trace after the previous line: indented, or the bracket that closes it;
     * and for the advice below an error.
     */
    continues(frame: EngineFrame): boolean {
      if (!tracing[frame.channel] || frame.value !== undefined || frame.blanks !== undefined) return false
      return /^(?:[ \t]|[}\]],?$)/.test(frame.text.slice(0, 8)) || isHint(frame.text.slice(0, 40))
    },
  }
}

function bodyOf(value: unknown): string | undefined {
  return isErrorDocument(value) ? undefined : apiError(value)
}

/** `{"error":{"type":…,"message":…}}`: how json mode reports that the run failed, up to 0.20. */
function isErrorDocument(value: unknown): boolean {
  return fits(value, 'error.type:text error.message:text #1')
}

/** Start-up lines. On a pipe the answer may begin with a warning, so only whole sentences count there. */
function isStartLine({ channel, text }: EngineFrame): boolean {
  if (channel === 'pty') return startLine.test(text.slice(0, 100))
  return startSentence.test(text.slice(0, 200))
}

/** `[cleanup] done`: a log line, if no model text came before. */
function isTagged({ text, value }: EngineFrame): boolean {
  return value === undefined && tagged.test(text.slice(0, 100))
}

const tagged = /^\[[A-Za-z][\w.:-]{1,40}\] \S/

const startLine =
  /^(Warning: |YOLO mode is enabled|Ripgrep is not available|Loaded cached credentials|Data collection is disabled\.$|\[STARTUP\])/
const startSentence =
  /^(?:Loaded cached credentials\.|Data collection is disabled\.|YOLO mode is enabled\. All tool calls will be automatically approved\.|Ripgrep is not available\. Falling back to GrepTool\.|\[STARTUP\] .{1,150})$/
