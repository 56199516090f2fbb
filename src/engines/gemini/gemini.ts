import type { Engine, EngineFrame, Limits, Say } from '../../events/engine.ts'
import { fits, Rec } from '../../events/record.ts'
import { prose } from '../answer-text.ts'
import { isErrorDocument, isStartLine, isTagged, logReader } from './log.ts'
import { isEvent, isStreamLine, streamReader } from './stream.ts'
import { statsTokens } from './tokens.ts'

/** First keys of the document, also after other text on its line. */
export const documentKeys = ['session_id', 'response', 'stats']

/** Gemini CLI (`gemini -o stream-json | json | text`). The json document can be on stdout or stderr. */
export const gemini: Engine = {
  name: 'gemini',
  parser: 'gemini_json',
  cut: { stdout: 'documents', stderr: 'documents', pty: 'documents', glued: documentKeys },
  about: 'gemini -o stream-json, json or text; 0.61, 0.40, 0.20',
  shape: (frame) =>
    isOwnDocument(frame.value) ||
    cutSession(frame) !== undefined ||
    (frame.channel !== 'stderr' && isStreamLine(frame.value) && (fits(frame.value, 'type=init') || 'weak')),
  open(limits) {
    const run = new GeminiRun(limits)
    return { read: (frame, say) => run.read(frame, say), end: (say) => run.end(say) }
  },
}

/**
 * Reads one run. Whether its lines are an answer, a stream or text around a document shows only as it goes
 * on, so most of them are kept until then.
 */
class GeminiRun {
  readonly #answer: ReturnType<typeof prose>
  readonly #log = logReader()
  readonly #stream = streamReader()
  /** Records or a document were seen, so plain lines are not the answer. */
  #framed = false
  /** The output is stream-json, where only the stream is the answer: any other document may be quoted. */
  #streaming = false
  /** The best document so far. */
  #best: EngineFrame | undefined
  /**
   * The last document after other text, where the model may have quoted it: it counts if only lines follow
   * that the CLI is known to write; after a start-up line, anything that looks like a log may follow, too.
   */
  #quoted: EngineFrame | undefined
  #afterStart = false
  /** The last error document that names no session: it counts if nothing else is said. */
  #failed: EngineFrame | undefined
  /** The answer has begun, so what looks like a start-up line may be the model's words. */
  #answering = false
  /** The answer is in a fence. */
  #fenced = false

  constructor(limits: Limits) {
    this.#answer = prose(limits)
  }

  read(frame: EngineFrame, say: Say): boolean | 'kept' {
    const { value, glue } = frame
    const words = frame.channel !== 'stderr'
    if (isDocument(value)) {
      if (words && !this.#framed && (this.#fenced || glue !== undefined)) return this.#readText(frame, say)
      if (!this.#streaming) return this.#keepBest(frame, say)
    }
    const session = cutSession(frame)
    if (!this.#streaming && (session !== undefined || isCutResponse(frame))) {
      this.#frame(say)
      say.session(session)
      return false
    }
    if (isErrorDocument(value) && !(words && this.#fenced)) return this.#keepFailed(frame, say)
    if (!words) return this.#log.read(frame, say)
    if (isStreamLine(value)) {
      this.#frame(say)
      this.#streaming = true
    }
    if (!this.#framed) return this.#readText(frame, say)
    const line = this.#streaming ? Rec.of(value) : undefined
    return (
      this.#log.read(frame, say) || (line !== undefined && isEvent(line) && this.#stream(frame, line, say))
    )
  }

  end(say: Say): void {
    if (this.#best === undefined) this.#takeQuoted()
    if (this.#best) this.#frame(say)
    if (this.#failed) {
      say.about(this.#failed)
      sayFailed(this.#failed, this.#framed || this.#answer.frames().length > 0 ? 'error' : 'fatal', say)
    }
    this.#answer.speak(say)
    if (this.#best && this.#streaming) say.giveBack(this.#best)
    else if (this.#best) readDocument(this.#best, say)
  }

  /** The lines kept so far are not the answer: they are emitted as raw, at their own position. */
  #frame(say: Say): void {
    if (!this.#framed) this.#answer.giveBack(say)
    this.#framed = true
  }

  #readText(frame: EngineFrame, say: Say): boolean | 'kept' {
    if (!this.#fenced) {
      if (this.#log.continues(frame)) return false
      if (isStartLine(frame) && !(this.#answering && frame.channel === 'stdout')) {
        this.#afterStart = !this.#quoted || this.#afterStart
        return false
      }
      if (this.#log.read(frame, say)) return true
    }
    if (frame.text.startsWith('```') || frame.text.startsWith('~~~')) this.#fenced = !this.#fenced
    if (frame.blank) return this.#answer.keep(frame, say)
    if (this.#answering && !this.#quoted) this.#afterStart = false
    this.#answering = true
    if (!this.#fenced && isDocument(frame.value)) this.#quoted = frame
    else if (!this.#isNotice(frame)) this.#quoted = undefined
    return this.#answer.keep(frame, say)
  }

  /** A line of the CLI after the document: on a line of its own, outside any fence. */
  #isNotice(frame: EngineFrame): boolean {
    if (this.#fenced || frame.glue !== undefined) return false
    return isStartLine(frame) || (this.#afterStart && isTagged(frame))
  }

  #keepBest(frame: EngineFrame, say: Say): 'kept' {
    if (this.#best === undefined) this.#takeQuoted()
    this.#frame(say)
    const worse = this.#best && rank(this.#best) > rank(frame) ? frame : this.#best
    if (worse !== frame) this.#best = frame
    if (worse) say.giveBack(worse)
    return 'kept'
  }

  #takeQuoted(): void {
    if (this.#quoted) this.#best = this.#answer.takeLast((kept) => kept === this.#quoted)
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

const documentKey = new Set(['session_id', 'response', 'stats', 'error'])

/** True for a document that only Gemini can have written. */
function isOwnDocument(value: unknown): boolean {
  return isDocument(value) && (fits(value, 'session_id:text') || fits(value, 'stats.models:record'))
}

/**
 * The session of a json document that was cut off at the edge of a pipe buffer: it is not an answer, but it
 * shows the format.
 */
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
  say.fields(document.values, 'session_id response:text stats:record error:record')
  say.session(document.at('session_id'))
  const stats = document.at('stats')
  if (stats !== undefined) say.status('result', { stats, tokens: statsTokens(stats) })
  const response = document.text('response')
  if (response !== undefined) {
    say.message(undefined, response, { enveloped: true })
    say.ended('response document')
  }
  if (document.record('error')) say.error(document.text('error.message') ?? 'the engine failed', 'fatal')
}

/** An error that names no session: the run's own, or an earlier one that was followed by something else. */
function sayFailed(frame: EngineFrame, severity: 'fatal' | 'error', say: Say): true {
  say.confidence(0.8)
  say.error(Rec.of(frame.value)?.text('error.message') ?? 'the engine failed', severity)
  return true
}
