/** Characters of a line to check. */
const MAX_LINE = 4096

const words = [
  'error',
  'fatal',
  'panic',
  'exception',
  'traceback',
  'failed',
  'cancelled',
  'canceled',
  'aborted',
  'denied',
  'unauthorized',
  'refused',
  'not found',
  'no such file',
]
/** Lines that begin like these are not errors, or are retried. */
const harmless = ['warn', '[warn', 'at ', 'info', 'debug', '[startup]', 'hint', 'note']
const again = ['reconnecting', 'retrying', 'falling back']

/**
 * The error in a line that no engine understands: its text, or the message of a JSON log record. Undefined if
 * it does not look like an error. It is a guess from words, only for display: no decision depends on it.
 *
 * @example
 * errorLine('Error: Incorrect API key provided.') // 'Error: Incorrect API key provided.'
 * errorLine('{"type":"error","message":"no prompt"}') // 'no prompt'
 */
export function errorLine(line: string): string | undefined {
  const text = line.slice(0, MAX_LINE).trim()
  if (text.startsWith('{')) return messageOf(line.trim())
  const lower = text.toLowerCase()
  if (harmless.some((start) => lower.startsWith(start)) || again.some((word) => lower.includes(word)))
    return undefined
  return words.some((word) => lower.includes(word)) ? text : undefined
}

function messageOf(line: string): string | undefined {
  let record: unknown
  try {
    record = JSON.parse(line)
  } catch {
    return undefined
  }
  const { type, level, message, msg } = record as Record<string, unknown> // cast: the line begins with `{`
  if (type !== 'error' && level !== 'error' && level !== 'fatal') return undefined
  const reported = message ?? msg
  return typeof reported === 'string' ? reported : undefined
}
