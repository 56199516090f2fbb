import type { Engine } from '../events/engine.ts'
import { AnswerText } from './answer-text.ts'

/** The engine for any other program: its whole stdout is the answer. */
export const text: Engine = {
  name: 'text',
  parser: 'text',
  cut: { stdout: 'text', pty: 'text' },
  about: 'any program; stdout is one message; exit code 0 alone is no success, any other is a failure',
  open(limits) {
    const answer = new AnswerText(limits)
    return {
      read: (frame, say) => answer.keep(frame, say),
      end: (say) => answer.speak(say),
    }
  },
}
