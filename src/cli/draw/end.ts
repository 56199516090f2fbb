import { costWords } from '../../events/cost.ts'
import type { CompletionData, ResultData } from '../../events/event.ts'
import { endPhrase, outcomeOf } from '../../events/run-outcome.ts'
import type { RunSummary } from '../../views/summary.ts'
import { countWords, durationWords, grouped } from '../../views/words.ts'
import { factLines, type Look, oneLine } from './row-layout.ts'
import { styles, wrap } from './wrap.ts'

/** Green, yellow, red. */
export const outcomeStyles = {
  succeeded: styles.green,
  finished: styles.green,
  needs_input: styles.yellow,
  failed: styles.red,
  cancelled: styles.yellow,
  unknown: styles.yellow,
} as const

/** What a drawing has seen of the attempt that ends. */
export interface Seen {
  readonly completion: CompletionData
  readonly result: ResultData | undefined
  readonly summary: RunSummary
  /** The model that the head named; some engines tell it late. */
  readonly headModel: string | undefined
  /** What was counted and not drawn. */
  readonly folded: { readonly warnings: number; readonly retries: number; readonly raw: number }
  readonly audit: string | undefined
}

/** The last lines of an attempt: how it ended and why, then what it did and took. */
export function endOf(
  seen: Seen,
  look: Look & { readonly verbose: boolean; readonly timed: boolean },
): string[] {
  return [...outcomeLines(seen, look), ...summaryLines(seen, look)]
}

function outcomeLines(
  { completion, result }: Seen,
  { paint, columns, verbose }: Look & { readonly verbose: boolean },
): string[] {
  const outcome = outcomeOf(completion)
  const { reason_code } = completion
  // A journal that others wrote may lack the evidence.
  const { failure, signal, end_signal, truncated, exit_code, request, marker } = completion.evidence ?? {}
  const { problem, failure_class } = completion
  const evidence = [
    reason_code === 'DONE_MARKER' ? 'done marker' : '',
    failure ?? signal ?? end_signal ?? (truncated ? 'output was cut' : ''),
    reason_code === 'NO_END_SIGNAL' ? 'no end signal' : '',
    request !== undefined && request !== end_signal ? request : '',
    marker === 'missing' ? 'no done marker' : '',
  ]
  const why = [
    verbose ? reason_code : '',
    // The sentence says what happened; recordings of 0.3 have none.
    ...(problem === undefined ? evidence : [failure_class === 'other' ? '' : failure_class]),
    typeof exit_code === 'number' && !problem?.includes(`code ${exit_code}`) ? `exit ${exit_code}` : '',
    result ? `result ${result.status}` : '',
  ].filter(Boolean)
  const about = why.length > 0 ? ` (${why.join(', ')})` : ''
  const words = `${outcome}: ${problem ?? endPhrase(outcome, failure_class)}${about}`
  // Never cut to the width: how it ended is what one looks for.
  const [first = '', ...rest] = wrap([{ text: oneLine(words), style: styles.bold }], columns() - 2, paint)
  return [`${paint(outcomeStyles[outcome], '■')} ${first}`, ...rest.map((line) => `  ${line}`)]
}

function summaryLines(
  { summary, headModel, folded, audit }: Seen,
  { paint, columns, timed }: Look & { readonly timed: boolean },
): string[] {
  const { turns, tools, file_count, tokens, cost, first_ts, last_ts, model } = summary
  const took = timed && first_ts !== undefined ? Date.parse(last_ts ?? first_ts) - Date.parse(first_ts) : 0
  const count = (name: string, tokens: number | undefined) =>
    tokens === undefined ? '' : `${grouped(tokens)} ${name}`
  const spent = [count('in', tokens?.input), count('out', tokens?.output), count('cached', tokens?.cached)]
  const told = spent.filter(Boolean).join(' / ')
  const hidden = [
    folded.warnings > 0 ? countWords(folded.warnings, 'warning') : '',
    folded.raw > 0 ? countWords(folded.raw, 'raw line') : '',
  ].filter(Boolean)
  const facts = [
    model === headModel ? '' : (model ?? ''),
    turns > 0 ? countWords(turns, 'turn') : '',
    tools.called > 0
      ? countWords(tools.called, 'tool') + (tools.failed > 0 ? ` (${tools.failed} failed)` : '')
      : '',
    folded.retries > 0 ? countWords(folded.retries, 'retry', 'retries') : '',
    file_count > 0 ? countWords(file_count, 'file') : '',
    told === '' ? '' : `tokens ${told}`,
    costWords(cost),
    took > 0 ? durationWords(took) : '',
  ]
  const lines = [
    ...factLines(facts, columns()),
    ...(hidden.length > 0 ? factLines([`not shown: ${hidden.join(', ')} (--verbose)`], columns()) : []),
    // Whole, to be copied.
    ...(audit === undefined ? [] : [`  audit: ${oneLine(audit)}`]),
  ]
  return lines.map((line) => paint(styles.dim, line))
}
