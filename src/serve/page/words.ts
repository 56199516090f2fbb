import { type Cost, costWords } from '../../events/cost.ts'
import type { CompletionData, FailureClass } from '../../events/event.ts'
import { endPhrase, type RunOutcome } from '../../events/run-outcome.ts'
import type { Tokens } from '../../events/tokens.ts'

export { countWords, durationWords, sizeWords } from '../../views/words.ts'

/** What decided the end of a run, in words. */
const reasonWords: Readonly<Record<string, string>> = {
  DONE_MARKER: 'it said that its work is done',
  END_SIGNAL: 'its turn is over',
  REQUEST_OPEN: 'it waits for an answer',
  ENGINE_FAILED: 'the engine reported a failure',
  // Evidence has the code itself.
  EXIT_CODE: '',
  SIGNAL: 'a signal ended it',
  MAX_TOKENS: 'its answer reached a limit of tokens',
  TRUNCATED: 'its output stops in the middle of a record',
  NO_END_SIGNAL: 'it stopped without saying that it was done',
}

export function outcomeLine(outcome: RunOutcome, failure?: FailureClass | null): string {
  // A possible cause of a failure is not given as its reason.
  const isVague = outcome === 'failed' && (failure ?? 'other') === 'other'
  return outcome.replace('_', ' ') + (isVague ? '' : `: ${endPhrase(outcome, failure)}`)
}

/** Why a run ended as it did, in one sentence. */
export function whyEnded({ reason_code, evidence }: CompletionData): string {
  const seen = evidence ?? {}
  const parts = [reasonWords[reason_code] ?? reason_code]
  if (seen.end_signal) parts.push(`end signal ${seen.end_signal}`)
  if (seen.request && seen.request !== seen.end_signal) parts.push(`open request ${seen.request}`)
  if (seen.marker === 'missing') parts.push('no done marker')
  if (seen.failure) parts.push(seen.failure)
  if (seen.signal) parts.push(seen.signal)
  else if (seen.exit_code !== null && seen.exit_code !== undefined) parts.push(`exit code ${seen.exit_code}`)
  if (seen.stopped) parts.push(`stopped on request: ${seen.stopped}`)
  const text = parts.filter(Boolean).join('; ') || 'no reason is known'
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

const kinds = [
  ['input', 'in'],
  ['cached', 'cached'],
  ['cache_write', 'written to the cache'],
  ['output', 'out'],
  ['reasoning', 'thought'],
] as const

/** Token counts and the cost in one line; empty if none is known. */
export function spentWords(spent: {
  readonly tokens?: Tokens | undefined
  readonly cost?: Cost | undefined
}): string {
  const parts = kinds.flatMap(([kind, word]) => {
    const count = spent.tokens?.[kind]
    // Agents report 0 for what they do not have.
    return typeof count === 'number' && (count > 0 || kind === 'input' || kind === 'output')
      ? [`${count.toLocaleString()} ${word}`]
      : []
  })
  const words = parts.length > 0 ? `tokens: ${parts.join(', ')}` : ''
  return [words, priceWords(spent.cost)].filter(Boolean).join(' · ')
}

/** A cost; 0 is shown, too, because here a blank means that it is not known. */
export function priceWords(cost: Cost | null | undefined): string {
  if (!cost) return ''
  return costWords(cost) || (cost.currency === 'USD' ? '$0' : `0 ${cost.currency}`)
}

/** A count in a few characters: 950, 12k, 3.4M. */
export function shortNumber(count: number): string {
  if (count < 1000) return String(count)
  if (count < 999_500) return `${(count / 1000).toFixed(count < 9950 ? 1 : 0)}k`
  return `${(count / 1e6).toFixed(1)}M`
}

/** Today as a time, other days with their date. */
export function dateWords(text: string): string {
  const date = new Date(text)
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const today = new Date().toDateString() === date.toDateString()
  return date.toLocaleString([], today ? time : { ...time, month: 'short', day: 'numeric' })
}

/** A time since the start, as a clock shows it: 2:05, 1:02:05. */
export function clockWords(milliseconds: number): string {
  const seconds = Math.floor(Math.max(0, milliseconds) / 1000)
  const two = (count: number) => String(count % 60).padStart(2, '0')
  const minutes = Math.floor(seconds / 60)
  return `${minutes < 60 ? minutes : `${Math.floor(minutes / 60)}:${two(minutes)}`}:${two(seconds)}`
}

/** With the year and the seconds, for a title; empty without a time. */
export function fullDate(text: string | null | undefined): string {
  return text ? new Date(text).toLocaleString() : ''
}

/** Makes invisible characters visible, which a terminal would interpret. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (character) =>
    character === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + character.charCodeAt(0)),
  )
}
