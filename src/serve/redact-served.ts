import { isObject } from '../base/check-options.ts'
import { type AgentEvent, isEvent, isPiece } from '../events/event.ts'
import { cutWord } from '../views/redact/pieces.ts'
import { type RedactOptions, type Redactor, redactor } from '../views/redact/redact.ts'
import type { RunInfo } from './run-info.ts'

/** Hides the secrets of everything that is served. */
export type Hiding = NonNullable<ReturnType<typeof hidingOf>>

/**
 * Hides secrets in each event by itself, because a client may begin anywhere. So pieces have no text: a
 * secret could be cut in two, and what ends them has all of it. Nothing is learned from one
 * event for another, for the same reason: every client must get the same event.
 */
export function hidingOf(redact: boolean | RedactOptions) {
  if (redact === false) return undefined
  const hide = redactor({ ...(redact === true ? {} : redact), learn: false })
  return {
    event(event: AgentEvent): AgentEvent {
      // Cast: another program may have written the journal, with `data` of any type. Hide it like any value.
      if (!isObject(event.data)) return { ...(event as object), data: hide.value(event.data) } as AgentEvent
      // Cast: the same event with another text.
      if (isPiece(event)) return { ...event, data: { ...event.data, text: '' } } as AgentEvent
      return withoutKeyLine(hide.event(event))
    },
    info: (info: RunInfo) => withoutSecrets(info, hide),
  }
}

/** An info without the secrets in its texts. It says that raw bytes are hidden, too. */
export function withoutSecrets(info: RunInfo, hide: Redactor): RunInfo {
  const { argv, task, problem, waits_for, tags } = info
  // Cast: redacting keeps the shape of a value.
  const texts = hide.value({ argv, task, problem, waits_for, ...(tags && { tags }) }) as Partial<RunInfo>
  return { ...info, ...texts, raw_hidden: true }
}

/**
 * A private key that is printed has one raw line for each of its own, and the last one is too short to look
 * random: a line of one word in which small and capital letters or digits are mixed goes.
 */
function withoutKeyLine(event: AgentEvent): AgentEvent {
  if (!isEvent(event, 'raw.stdout', 'raw.stderr', 'raw.pty', 'raw.stdin')) return event
  const { line } = event.data
  // Another program may have written the journal.
  if (typeof line !== 'string' || line.length > MAX_KEY_LINE) return event
  const word = line.trim()
  const isKey = cutWord(word) === 0 && !NO_BASE64.some((sign) => word.includes(sign))
  return isKey ? { ...event, data: { ...event.data, line: '[redacted:private-key]' } } : event
}

const MAX_KEY_LINE = 200
/** Signs of words that no private key has. */
const NO_BASE64 = ['_', '-', '.', '~']
