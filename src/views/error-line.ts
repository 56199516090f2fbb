/** Characters of a line that are looked at. */
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
/** What begins like these is no error, or is one that is tried again. */
const harmless = ['warn', '[warn', 'at ', 'info', 'debug', '[startup]', 'hint', 'note']
const again = ['reconnecting', 'retrying', 'falling back']

/**
 * What a line that no engine understands says about an error: its words, or the message of a JSON log record. Undefined if it
 * does not look like an error. It is a guess by words, for people: nothing is decided by it.
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
  const { type, level, message, msg } = record as Record<string, unknown>
  if (type !== 'error' && level !== 'error' && level !== 'fatal') return undefined
  const told = message ?? msg
  return typeof told === 'string' ? told : undefined
}
