import { type EngineFrame, isRecord, type Profile, type Say, text } from '../events/profile.ts'
import { prose } from './answer-text.ts'
import { streamReader } from './gemini-stream.ts'

type Line = Record<string, unknown>

/** Gemini CLI (`gemini -o stream-json | json | text`). The json document can stand on stdout or stderr. */
export const gemini: Profile = {
  name: 'gemini',
  parser: 'gemini_json',
  cut: { stdout: 'documents', stderr: 'documents', pty: 'documents' },
  about: 'gemini -o stream-json, json or text; 0.61',
  shape: (frame) =>
    isDocument(frame.value) ||
    isCutDocument(frame) ||
    (frame.channel !== 'stderr' && isStreamLine(frame.value)),
  open(limits) {
    const answer = prose(limits)
    const stream = streamReader()
    /** Records or a document were seen, so plain lines are no answer. */
    let framed = false
    /** It speaks stream-json, where the stream alone is the answer: a document is anybody's. */
    let streaming = false
    /** The best document so far. */
    let best: EngineFrame | undefined
    return {
      read(frame, say) {
        if (!streaming && isDocument(frame.value)) {
          const worse = best && rank(best) > rank(frame) ? frame : best
          if (worse !== frame) best = frame
          if (worse) say.giveBack(worse)
          return 'kept'
        }
        if (!streaming && isCutDocument(frame)) {
          say.session(cutSession.exec(frame.text.slice(0, 200))?.[1])
          framed = true
          return false
        }
        if (frame.channel === 'stderr') return readLog(frame.text, say)
        if (isStreamLine(frame.value)) framed = streaming = true
        if (framed && isRecord(frame.value)) return stream(frame.value, say)
        return framed ? readLog(frame.text, say) : answer.keep(frame, say)
      },
      end(say) {
        if (!framed && best === undefined) {
          dropNoise(answer, say)
          return
        }
        for (const frame of answer.frames()) {
          say.about(frame)
          if (!readLog(frame.text, say)) say.giveBack(frame)
        }
        if (best && streaming) say.giveBack(best)
        else if (best) readDocument(best, say)
      },
    }
  },
}

function isDocument(value: unknown): value is Line {
  if (!isRecord(value) || typeof value['session_id'] !== 'string' || 'type' in value) return false
  return 'response' in value || isRecord(value['error'])
}

const cutSession = /^\{\s*"session_id":\s*"([^"]+)",/

/** The document of json mode, cut off at a pipe's edge: no answer, but it says what it was. */
function isCutDocument(frame: EngineFrame): boolean {
  return frame.open === true && cutSession.test(frame.text.slice(0, 200))
}

const streamTypes = new Set(['init', 'message', 'tool_use', 'tool_result', 'error', 'result'])

function isStreamLine(value: unknown): value is Line {
  return (
    isRecord(value) && streamTypes.has(text(value['type']) ?? '') && typeof value['timestamp'] === 'string'
  )
}

/** The document with a response wins, stdout before stderr, the last one of equals. */
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
  if (document['stats'] !== undefined) say.status('result', { stats: document['stats'] })
  if (typeof document['response'] === 'string') {
    say.message(undefined, document['response'], { enveloped: true })
    say.ended('response document')
  }
  if (isRecord(document['error']))
    say.error(text(document['error']['message']) ?? 'the engine failed', 'fatal')
}

/** What the CLI logs about requests that failed. A retry is a warning. */
function readLog(line: string, say: Say): boolean {
  const head = line.slice(0, 500)
  const retry = /^Attempt \d+ failed/.test(head)
  if (!retry && !/^(Error when talking to Gemini API|Error generating content|\[API Error)/.test(head))
    return false
  say.confidence(0.7)
  say.error(head, retry ? 'warning' : 'error')
  return true
}

const noise =
  /^(Warning: |YOLO mode is enabled|Ripgrep is not available|Loaded cached credentials|\[STARTUP\])/

/** Text mode: what is left after the known start-up lines is the answer. */
function dropNoise(answer: ReturnType<typeof prose>, say: Say): void {
  const all = [...answer.frames()]
  answer.forget()
  for (const frame of all) {
    if (frame.channel === 'pty' && noise.test(frame.text.slice(0, 100))) say.giveBack(frame)
    else answer.keep(frame, say)
  }
  answer.speak(say)
}
