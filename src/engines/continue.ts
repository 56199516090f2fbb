import { type Engine, type EngineFrame, isRecord, text } from '../events/engine.ts'
import { prose } from './answer-text.ts'

type Document = Record<string, unknown>

/**
 * Continue (`cn -p`, also with `--format json`). It prints the text of the last turn; with `--format json` as
 * `{response, status, note}`, or unchanged if it is JSON. An error is one record on stderr.
 */
export const continueCli: Engine = {
  name: 'continue',
  parser: 'continue_json',
  cut: { stdout: 'documents', stderr: 'records', pty: 'documents' },
  about: 'cn -p, also with --format json; 1.5',
  shape: ({ value, channel }) => channel !== 'stderr' && isEnvelope(value),
  open(limits) {
    const answer = prose(limits)
    let spoke = false
    /** The single document; other programs write such records, too, but more than one. */
    let envelope: EngineFrame | undefined
    return {
      read(frame, say) {
        const { value, channel } = frame
        // On stdout it would be the model's own JSON.
        if (channel !== 'stdout' && isError(value)) {
          answer.giveBack(say)
          say.error(text(value['message']) ?? '', 'fatal')
          spoke = true
          return true
        }
        if (channel === 'stderr') return false
        if (envelope && isRecord(value)) {
          say.giveBack(envelope)
          envelope = undefined
        }
        if (spoke) return false
        // Half an answer is not an answer.
        const cut = frame.open === true && frame.text.startsWith('{"response":"')
        if (!cut && !isEnvelope(value)) return answer.keep(frame, say)
        answer.giveBack(say)
        spoke = true
        if (!isEnvelope(value)) return false
        envelope = frame
        return 'kept'
      },
      end(say) {
        answer.speak(say)
        if (!envelope || !isEnvelope(envelope.value)) return
        say.about(envelope)
        say.message(undefined, envelope.value.response, { enveloped: true })
        say.ended('response document')
      },
    }
  },
}

function isEnvelope(value: unknown): value is Document & { response: string } {
  if (!isRecord(value) || Object.keys(value).length !== 3) return false
  const { response, status, note } = value
  return typeof response === 'string' && status === 'success' && typeof note === 'string'
}

function isError(value: unknown): value is Document {
  if (!isRecord(value) || Object.keys(value).length !== 2) return false
  return value['status'] === 'error' && typeof value['message'] === 'string'
}
