import { type Engine, type EngineFrame, isLenient } from '../events/engine.ts'
import { Rec } from '../events/record.ts'
import { AnswerText } from './answer-text.ts'
import { errorAnswer } from './api-errors.ts'
import type { Program } from './command-line.ts'

export const continueCliProgram: Program = {
  names: 'cn @continuedev/cli',
  headless: '-p --print',
  records: '--format=json',
  add: '--format json',
  blind: 'tokens cost toolCalls',
}

/**
 * Continue (`cn -p`, also with `--format json`). It prints the text of the last turn; with `--format json` as
 * `{response, status, note}`, or unchanged if it is JSON. An error is one record on stderr.
 */
export const continueCli: Engine = {
  name: 'continue',
  parser: 'continue_json',
  cut: { stdout: 'documents', stderr: 'records', pty: 'documents' },
  about: 'cn -p, also with --format json; 1.5',
  shape: ({ value, channel }) => channel !== 'stderr' && answerIn(value) !== undefined,
  open(limits) {
    const answer = new AnswerText(limits, 1)
    let spoke = false
    /** The single document; other programs write such records, too, but more than one. */
    let envelope: { readonly frame: EngineFrame; readonly words: string } | undefined
    return {
      read(frame, say) {
        const { value, channel } = frame
        const words =
          answerIn(value) ?? (isLenient(frame, limits) ? leastIn(value)?.text('response') : undefined)
        // On stdout it would be the model's own JSON.
        const failure = channel === 'stdout' ? undefined : Rec.of(value, '#2 status=error message:text')
        if (failure) {
          answer.giveBack(say)
          say.error(failure.text('message') ?? '', 'fatal')
          spoke = true
          return true
        }
        if (channel === 'stderr') return false
        if (envelope && Rec.of(value)) {
          say.giveBack(envelope.frame)
          envelope = undefined
        }
        if (spoke) return false
        // Half an answer is not an answer.
        const cut = frame.open === true && frame.text.startsWith('{"response":"')
        if (!cut && words === undefined) return answer.keep(frame, say)
        answer.giveBack(say)
        spoke = true
        if (words === undefined) return false
        envelope = { frame, words }
        return 'kept'
      },
      end(say) {
        answer.speak(say)
        if (!envelope) return
        say.about(envelope.frame)
        const error = errorAnswer(envelope.words)
        if (error === undefined) {
          say.message(undefined, envelope.words, { enveloped: true })
          say.ended('response document', envelope.words)
        } else say.error(error, 'fatal')
      },
      over: () => envelope !== undefined,
    }
  },
}

/** The document of a named engine may lack one of its fields. */
const leastIn = (value: unknown): Rec | undefined =>
  Rec.of(value, '#2 response:text status=success') ?? Rec.of(value, '#2 response:text note:text')

function answerIn(value: unknown): string | undefined {
  return Rec.of(value, '#3 response:text status=success note:text')?.text('response')
}
