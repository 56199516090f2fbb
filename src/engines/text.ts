import type { Engine } from '../events/engine.ts'
import { AnswerText } from './answer-text.ts'

/** Any other program: its stdout is taken as the answer. */
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
