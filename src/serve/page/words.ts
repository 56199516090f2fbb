import { type Cost, costWords } from '../../events/cost.ts'
import type { CompletionData, FailureClass } from '../../events/event.ts'
import { endPhrase, type RunOutcome } from '../../events/run-outcome.ts'
import type { Tokens } from '../../events/tokens.ts'

export { sizeWords } from '../../views/words.ts'

/** What decided the end of a run, in words. */
export const reasonWords: Readonly<Record<string, string>> = {
  DONE_MARKER: 'it said that its work is done',
  END_SIGNAL: 'its turn is over',
  REQUEST_OPEN: 'it waits for an answer',
  ENGINE_FAILED: 'the engine reported a failure',
  EXIT_CODE: 'its exit code is not 0',
  SIGNAL: 'a signal ended it',
  MAX_TOKENS: 'its answer reached a limit of tokens',
  TRUNCATED: 'its output stops in the middle of a record',
  NO_END_SIGNAL: 'it stopped without saying that it was done',
}

export function outcomeLine(outcome: RunOutcome, failure?: FailureClass | null): string {
  return `${outcome}: ${endPhrase(outcome, failure)}`
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
  const text = parts.filter(Boolean).join('; ')
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
    return typeof count === 'number' ? [`${count.toLocaleString()} ${word}`] : []
  })
  const words = parts.length > 0 ? `tokens: ${parts.join(', ')}` : ''
  return [words, costWords(spent.cost)].filter(Boolean).join(' · ')
}

/** A time span: 12 ms, 3.4 s, 5 min 20 s, 2 h 3 min. */
export function spanWords(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  const seconds = milliseconds / 1000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Today as a time, other days as a date. */
export function dateWords(text: string): string {
  const date = new Date(text)
  const today = new Date().toDateString() === date.toDateString()
  return date.toLocaleString(
    [],
    today ? { hour: '2-digit', minute: '2-digit' } : { month: 'short', day: 'numeric' },
  )
}

export function countWords(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`
}

/** Makes invisible characters visible, which a terminal would interpret. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (character) =>
    character === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + character.charCodeAt(0)),
  )
}
