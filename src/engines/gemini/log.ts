import type { EngineFrame, Say } from '../../events/engine.ts'
import { fits } from '../../events/record.ts'
import { apiError, isHint, isRetry, loggedError } from '../api-errors.ts'

/** Reads what the CLI logs next to its answer: requests that failed, and the stack traces after them. */
export function logReader() {
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
      say.error(failure, retried ? 'warning' : 'error', { alone: !retried })
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
export function isErrorDocument(value: unknown): boolean {
  return fits(value, 'error.type:text error.message:text #1')
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
