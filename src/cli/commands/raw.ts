import { quote } from '../../base/fault.ts'
import type { Outcome } from '../../values/outcome.ts'
import { safe } from '../draw/safe.ts'
import { harmless, output } from '../print.ts'

/**
 * Prints values for shells, like `jq -r`: a string without quotes and escapes, anything else as JSON on one
 * line, each followed by a line end. A string that contains line ends keeps them. On a terminal, control
 * characters are escaped. Faults, and the missing parts of a value that was cut off, go to stderr.
 */
export function rawPrinter(): (outcome: Outcome<unknown>) => Promise<boolean> {
  const write = output()
  const { isTTY } = process.stdout
  return async (outcome) => {
    if (!outcome.ok) {
      const { code, message, at } = outcome.fault
      console.error(`sluice: ${code}${at === undefined ? '' : ` at byte ${at}`}: ${message}`)
      return true
    }
    const { value, incomplete = [] } = outcome
    if (incomplete.length > 0) {
      const paths = incomplete.slice(0, 16).map((path) => (path === '' ? 'the root' : quote(path, 60)))
      console.error(`sluice: TRUNCATED: the value was cut off; incomplete: ${paths.join(', ')}`)
    }
    if (typeof value !== 'string') return write(`${harmless(JSON.stringify(value))}\n`)
    return write(`${isTTY ? safe(value) : value}\n`)
  }
}
