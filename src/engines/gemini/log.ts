import { type EngineFrame, isRecord, type Say, text } from '../../events/engine.ts'

type Line = Record<string, unknown>

/** Reads what the CLI logs next to its answer: requests that failed, and the stack traces after them. */
export function logReader() {
  /** The last line of the channel was such a log, or its trace. */
  const tracing = { stdout: false, stderr: false, pty: false }

  return {
    /** Reports what a line or an error body of the API says. A retry is a warning. */
    read(frame: EngineFrame, say: Say): boolean {
      const failure =
        frame.value === undefined ? loggedFailure(frame.text.slice(0, 500)) : apiError(frame.value)
      tracing[frame.channel] = failure !== undefined
      if (failure === undefined) return false
      say.confidence(0.7)
      say.error(failure, retry.test(failure.slice(0, 100)) ? 'warning' : 'error')
      return true
    },
    /**
     * True for a line of the stack trace after the previous line: indented, or the bracket that closes it.
     */
    continues(frame: EngineFrame): boolean {
      if (!tracing[frame.channel] || frame.value !== undefined || frame.blanks !== undefined) return false
      return /^(?:[ \t]|[}\]],?$)/.test(frame.text.slice(0, 8))
    },
  }
}

const retry = /^Attempt \d{1,4} failed/

const failures = [
  // A sentence that continues (`…, so I waited`) is the model's.
  /^Attempt \d{1,4} failed(?: with status(?: code)? \d{3})?(?![,\w]| [a-z])/,
  /^(?:\w{0,40}Error: )?got status: \d{3}\b/,
  /^(?:\w{0,40}Error: |API )?request failed with status(?: code)?:? \d{3}\b/i,
  /^(?:Error when talking to Gemini API|Error generating content|An unexpected critical error occurred:|\[API Error)/,
]

function loggedFailure(head: string): string | undefined {
  return failures.some((pattern) => pattern.test(head)) ? head : undefined
}

/** `{"error":{"code":429,…}}`, alone or in an array: an error response of the API. */
function apiError(value: unknown): string | undefined {
  const body: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value
  if (!isRecord(body) || !isRecord(body['error']) || Object.keys(body).length !== 1) return undefined
  const { code, message } = body['error']
  if (typeof code !== 'number' || code < 400 || isErrorDocument(body)) return undefined
  return text(message) ?? `the request failed with status ${code}`
}

/** `{"error":{"type":…,"message":…}}`: how json mode reports that the run failed, up to 0.20. */
export function isErrorDocument(value: unknown): value is Line {
  if (!isRecord(value) || !isRecord(value['error']) || Object.keys(value).length !== 1) return false
  return typeof value['error']['type'] === 'string' && typeof value['error']['message'] === 'string'
}

/** Start-up lines. On a pipe the answer may begin with a warning, so only whole sentences count there. */
export function isStartLine({ channel, text }: EngineFrame): boolean {
  if (channel === 'pty') return startLine.test(text.slice(0, 100))
  return startSentence.test(text.slice(0, 200))
}

/** `[cleanup] done`: a log line, if no model text came before. */
export function isTagged({ text, value }: EngineFrame): boolean {
  return value === undefined && tagged.test(text.slice(0, 100))
}

const tagged = /^\[[A-Za-z][\w.:-]{1,40}\] \S/

const startLine =
  /^(Warning: |YOLO mode is enabled|Ripgrep is not available|Loaded cached credentials|Data collection is disabled\.$|\[STARTUP\])/
const startSentence =
  /^(?:Loaded cached credentials\.|Data collection is disabled\.|YOLO mode is enabled\. All tool calls will be automatically approved\.|Ripgrep is not available\. Falling back to GrepTool\.|\[STARTUP\] .{1,150})$/
