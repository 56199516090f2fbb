import { type Engine, type EngineFrame, isRecord, type Say, text } from '../../events/engine.ts'
import { prose } from '../answer-text.ts'
import { isErrorDocument, isStartLine, isTagged, logReader } from './log.ts'
import { streamReader } from './stream.ts'
import { statsTokens } from './tokens.ts'

type Line = Record<string, unknown>

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
    (frame.channel !== 'stderr' && isStreamLine(frame.value) && (frame.value['type'] === 'init' || 'weak')),
  open(limits) {
    const answer = prose(limits)
    const log = logReader()
    const stream = streamReader()
    /** Records or a document were seen, so plain lines are not the answer. */
    let framed = false
    /** The output is stream-json, where only the stream is the answer: any other document may be quoted. */
    let streaming = false
    /** The best document so far. */
    let best: EngineFrame | undefined
    /**
     * The last document after other text, where the model may have quoted it: it counts if only lines follow
     * that the CLI is known to write; after a start-up line, anything that looks like a log may follow, too.
     */
    let quoted: EngineFrame | undefined
    let afterStart = false
    /** The last error document that names no session: it counts if nothing else is said. */
    let failed: EngineFrame | undefined
    /**
     * The answer has begun, so what looks like a start-up line may be the model's words; and it is in a
     * fence.
     */
    let answering = false
    let fenced = false

    /** The lines kept so far are not the answer: they are emitted as raw, at their own position. */
    const frameIt = (say: Say) => {
      framed = true
      answer.giveBack(say)
    }

    const readText = (frame: EngineFrame, say: Say): boolean | 'kept' => {
      if (!fenced) {
        if (log.continues(frame)) return false
        if (isStartLine(frame) && !(answering && frame.channel === 'stdout')) {
          afterStart = !quoted || afterStart
          return false
        }
        if (log.read(frame, say)) return true
      }
      if (frame.text.startsWith('```') || frame.text.startsWith('~~~')) fenced = !fenced
      if (frame.blank) return answer.keep(frame, say)
      if (answering && !quoted) afterStart = false
      answering = true
      if (!fenced && isDocument(frame.value)) quoted = frame
      else if (!isNotice(frame)) quoted = undefined
      return answer.keep(frame, say)
    }

    /** A line of the CLI after the document: on a line of its own, outside any fence. */
    const isNotice = (frame: EngineFrame) =>
      !fenced && frame.glue === undefined && (isStartLine(frame) || (afterStart && isTagged(frame)))

    const readDocuments = (frame: EngineFrame, say: Say): 'kept' => {
      best ??= quoted && answer.takeLast((kept) => kept === quoted)
      if (!framed) frameIt(say)
      const worse = best && rank(best) > rank(frame) ? frame : best
      if (worse !== frame) best = frame
      if (worse) say.giveBack(worse)
      return 'kept'
    }

    return {
      read(frame, say) {
        const words = frame.channel !== 'stderr'
        const quotable = fenced || frame.glue !== undefined
        if (words && !framed && quotable && isDocument(frame.value)) return readText(frame, say)
        if (!streaming && isDocument(frame.value)) return readDocuments(frame, say)
        const session = cutSession(frame)
        if (!streaming && (session !== undefined || isCutResponse(frame))) {
          if (!framed) frameIt(say)
          say.session(session)
          return false
        }
        if (isErrorDocument(frame.value) && !(words && fenced)) {
          if (framed) return sayFailed(frame, 'error', say)
          if (failed) {
            say.about(failed)
            sayFailed(failed, 'error', say)
          }
          failed = frame
          return 'kept'
        }
        if (!words) return log.read(frame, say)
        if (isStreamLine(frame.value)) {
          if (!framed) frameIt(say)
          streaming = true
        }
        if (!framed) return readText(frame, say)
        return log.read(frame, say) || (streaming && isEvent(frame.value) && stream(frame, frame.value, say))
      },
      end(say) {
        const last = best === undefined && quoted && answer.takeLast((kept) => kept === quoted)
        if (last) {
          best = last
          frameIt(say)
        }
        const silent = !framed && answer.frames().length === 0
        if (failed) {
          say.about(failed)
          sayFailed(failed, silent ? 'fatal' : 'error', say)
        }
        answer.speak(say)
        if (best && streaming) say.giveBack(best)
        else if (best) readDocument(best, say)
      },
    }
  },
}

/** The document of json mode: an answer, or an error. Up to 0.20 it has stats, but no session. */
function isDocument(value: unknown): value is Line {
  if (!isRecord(value) || 'type' in value) return false
  const { session_id, response, error, stats } = value
  if (typeof session_id !== 'string') return typeof response === 'string' && isRecord(stats)
  // The log of another API may have sessions and responses, too, but with more about each.
  const own = isRecord(stats) || Object.keys(value).every((key) => documentKey.has(key))
  return own && ('response' in value || isRecord(error))
}

const documentKey = new Set([...documentKeys, 'error'])

/** True for a document that only Gemini can have written. */
function isOwnDocument(value: unknown): boolean {
  if (!isDocument(value)) return false
  return typeof value['session_id'] === 'string' || isRecord((value['stats'] as Line)['models'])
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

/** The required fields of each type of stream-json. Log lines have a type and a time, too. */
const streamTypes: Readonly<Record<string, (line: Line) => boolean>> = {
  init: (line) => typeof line['session_id'] === 'string',
  message: (line) => typeof line['role'] === 'string' && typeof line['content'] === 'string',
  tool_use: (line) => typeof line['tool_name'] === 'string' && typeof line['tool_id'] === 'string',
  tool_result: (line) => typeof line['tool_id'] === 'string' && typeof line['status'] === 'string',
  error: (line) => typeof line['severity'] === 'string' && typeof line['message'] === 'string',
  result: (line) =>
    typeof line['status'] === 'string' && (isRecord(line['stats']) || isRecord(line['error'])),
}

function isStreamLine(value: unknown): value is Line {
  if (!isRecord(value) || typeof value['timestamp'] !== 'string') return false
  const type = text(value['type']) ?? ''
  return Object.hasOwn(streamTypes, type) && streamTypes[type]!(value)
}

/** A record of a stream that has begun: a field may be missing, and the type may be a new one. */
function isEvent(value: unknown): value is Line {
  if (!isRecord(value)) return false
  const { type, timestamp, status } = value
  if (!Object.hasOwn(streamTypes, text(type) ?? '')) return true
  return typeof timestamp === 'string' && (type !== 'result' || typeof status === 'string')
}

/** A document with a response wins, then stdout before stderr, then the later one. */
function rank(frame: EngineFrame): number {
  const answers = isRecord(frame.value) && typeof frame.value['response'] === 'string' ? 4 : 0
  return answers + (frame.channel === 'stdout' ? 2 : frame.channel === 'pty' ? 1 : 0)
}

function readDocument(frame: EngineFrame, say: Say): void {
  const document = frame.value as Line
  say.about(frame)
  say.confidence(0.8)
  say.fields(document, 'session_id response stats error')
  say.session(document['session_id'])
  const { stats } = document
  if (stats !== undefined) say.status('result', { stats, tokens: statsTokens(stats) })
  if (typeof document['response'] === 'string') {
    say.message(undefined, document['response'], { enveloped: true })
    say.ended('response document')
  }
  if (isRecord(document['error']))
    say.error(text(document['error']['message']) ?? 'the engine failed', 'fatal')
}

/** An error that names no session: the run's own, or an earlier one that was followed by something else. */
function sayFailed(frame: EngineFrame, severity: 'fatal' | 'error', say: Say): true {
  const { error } = frame.value as { error: Line }
  say.confidence(0.8)
  say.error(text(error['message']) ?? 'the engine failed', severity)
  return true
}
