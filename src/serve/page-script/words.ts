import { outcomeOf, outcomeWords } from '../../events/run-outcome.ts'

/** What is said of a run and its events, in words a person reads. */
export const words = String.raw`
// ---------------------------------------------------------------- words

// The package's own function and words, as text: the page says of an end what the terminal and the API say.
const outcomeOf = ${outcomeOf.toString()}
const outcomeWords = ${JSON.stringify(outcomeWords)}
const reasonNames = {
  DONE_MARKER: 'it said that its work is done',
  END_SIGNAL: 'its turn is over and it waits for an answer',
  ENGINE_FAILED: 'the engine reported a failure',
  EXIT_CODE: 'its exit code is not 0',
  SIGNAL: 'a signal ended it',
  TRUNCATED: 'its output stops in the middle of a record',
  NO_END_SIGNAL: 'it stopped without saying that it was done',
}

const outcomeLine = (outcome) => outcome + ': ' + outcomeWords[outcome]

function usage(numbers) {
  const count = (key) => (typeof numbers[key] === 'number' ? numbers[key].toLocaleString() : null)
  const parts = [['input', 'in'], ['cached', 'cached'], ['output', 'out'], ['reasoning', 'thought']].map(([key, word]) => (count(key) ? count(key) + ' ' + word : '')).filter(Boolean)
  return parts.length ? ' · tokens: ' + parts.join(', ') : ''
}

function why(data) {
  const seen = data.evidence || {}
  const parts = [reasonNames[data.reason_code] || data.reason_code]
  if (seen.end_signal) parts.push('end signal ' + seen.end_signal)
  if (seen.failure) parts.push(seen.failure)
  if (seen.signal) parts.push(seen.signal)
  else if (seen.exit_code !== null && seen.exit_code !== undefined) parts.push('exit code ' + seen.exit_code)
  if (seen.stopped) parts.push('stopped on request: ' + seen.stopped)
  return sentence(parts.join('; ')) + '.'
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1)
const firstLine = (text) => (text.trim().split('\n')[0] || '').slice(0, 400).replace(/^[*#\s]+|[*\s]+$/g, '').slice(0, 200)

function summary(value) {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value.split('\n')[0].slice(0, 300)
  if (typeof value === 'object' && !Array.isArray(value)) {
    const first = value.command ?? value.cmd ?? value.path ?? value.file_path ?? value.query ?? value.pattern
    if (Array.isArray(value.changes)) return value.changes.map((change) => change && change.path).filter(Boolean).join(', ').slice(0, 300)
    if (first !== undefined) return summary(Array.isArray(first) ? first.join(' ') : first)
  }
  return JSON.stringify(value).slice(0, 300)
}

function pretty(value) {
  if (typeof value === 'string') return value
  return JSON.stringify(value, null, 2) ?? ''
}
`
