import type { Engine } from '../../events/engine.ts'
import { opencode } from './opencode.ts'

/**
 * Kilo Code (`kilo run --format json`). The dialect is OpenCode's, and nothing in its first records is
 * specific to Kilo: `auto` reads a run of Kilo as `opencode`, with the same events.
 */
export const kilo: Engine = {
  name: 'kilo',
  parser: 'kilo_ndjson',
  cut: { stdout: 'records', pty: 'records' },
  about: 'kilo run --format json; 7.7 (auto calls it opencode: the dialect is the same)',
  open: (limits) => opencode.open(limits),
}
