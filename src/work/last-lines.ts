import { EscapeRemover } from '../text/ansi.ts'

const MAX_LINES = 20
const MAX_CHARACTERS = 2000

/**
 * The last lines of an output, without colors and trailing blanks: at most 20 lines and 2,000 characters.
 *
 * @example
 * lastLines('\u001b[31mError: no network\u001b[0m\n') // 'Error: no network'
 */
export function lastLines(output: string): string {
  const kept: Uint8Array[] = []
  const remover = new EscapeRemover('stderr', { keep: (bytes) => void kept.push(bytes), drop() {} })
  // An escape sequence may be cut at the start, but the shown text begins later.
  remover.write(Buffer.from(output.slice(-8 * MAX_CHARACTERS)))
  remover.end()
  const lines = Buffer.concat(kept).toString().trimEnd().split('\n').slice(-MAX_LINES)
  const text = lines.join('\n')
  if (text.length <= MAX_CHARACTERS) return text
  // Half a surrogate pair at the cut becomes U+FFFD.
  return Buffer.from(`…${text.slice(1 - MAX_CHARACTERS)}`).toString()
}
