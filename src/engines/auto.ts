import type { Picker } from '../events/profile.ts'
import { engines } from './engines.ts'
import { documentKeys } from './gemini.ts'
import { text } from './text.ts'

/**
 * Looks at the first records and picks the engine whose shape they have: never by version or key order. A
 * channel that an engine does not read cannot speak for it.
 */
export const auto: Picker = {
  name: 'auto',
  parser: 'auto',
  cut: {
    stdout: 'documents',
    stderr: 'documents',
    pty: 'documents',
    blocks: ['Execution Info'],
    glued: documentKeys,
  },
  about: 'picks one of the others by the shape of the first records',
  pick: (frame) =>
    Object.values(engines).find((engine) => engine.cut[frame.channel] && engine.shape?.(frame)),
  fallback: text,
}
