import type { Engine, EngineFrame, Picker } from '../events/engine.ts'
import { engines } from './engines-by-name.ts'
import { documentKeys, isAnswer } from './gemini/gemini.ts'
import { text } from './text.ts'

/**
 * Inspects the first records and picks the engine whose shape they have: never by version or key order. A
 * channel that an engine does not read says nothing about it. A weak shape is a guess: nothing is emitted
 * until a certain record confirms or replaces it, or the input ends.
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
    whole: isAnswer,
  },
  about: 'picks one of the others by the shape of the first records',
  pick: (frame) => engineOf(frame, true),
  guess: (frame) => engineOf(frame, 'weak'),
  fallback: text,
}

function engineOf(frame: EngineFrame, sure: true | 'weak'): Engine | undefined {
  const all: readonly Engine[] = Object.values(engines)
  return all.find((engine) => {
    const own = engine.cut[frame.channel] && engine.shape?.(frame)
    return sure === 'weak' ? own === 'weak' : own && own !== 'weak'
  })
}
