import { type EngineFrame, isRecord, type Profile, type Say, text } from '../events/profile.ts'
import { prose } from './answer-text.ts'

/**
 * iFlow: text, in three layers. Lines that a pattern knows (0.7), blocks of JSON (0.8), and the rest, which
 * is the answer (0.3 to 0.6). `<Execution Info>` ends the run and can stand on either stream.
 */
export const iflow: Profile = {
  name: 'iflow',
  parser: 'iflow_text',
  cut: { stdout: 'text', stderr: 'text', pty: 'text', blocks: ['Execution Info'] },
  about: 'iflow -p; 0.5, rebuilt from its write templates, not run',
  shape: (frame) => frame.label === 'Execution Info',
  open(limits) {
    const answer = prose(limits)
    let info: EngineFrame | undefined
    /** The answer has begun: what looks like a notice now may be the model's words. */
    let answering = false
    return {
      read(frame, say) {
        if (frame.label !== undefined && frame.channel === 'stderr') {
          if (info) say.giveBack(info)
          info = frame
          return 'kept'
        }
        const plain = frame.label === undefined
        if (plain && !(answering && frame.channel !== 'stderr') && readNotice(frame, say)) return true
        if (plain && readError(frame, say)) return true
        if (frame.channel === 'stderr') return false
        answering = true
        return answer.keep(frame, say)
      },
      end(say) {
        // The model can print such a block too: it counts only if stderr has none, and then the last one does.
        info ??= answer.takeLast((frame) => frame.label !== undefined)
        answer.speak(say)
        if (info) readInfo(info, say)
      },
    }
  },
}

function readNotice(frame: EngineFrame, say: Say): boolean {
  const id = notice.exec(frame.text.slice(0, 500))?.[1]
  if (id === undefined) return false
  say.confidence(0.7)
  say.session(id)
  say.status('resumed')
  return true
}

/** `ℹ️  Resuming session session-… (6 messages loaded)`, and nothing else on the line. */
const notice = /^ℹ\ufe0f? {1,2}Resuming session ([\w-]{8,100}) \(\d{1,9} messages? loaded\)$/u

function readError(frame: EngineFrame, say: Say): boolean {
  const head = frame.text.slice(0, 500)
  // On stdout a line that starts with "Error" may be the answer.
  if (frame.channel === 'stdout') return false
  if (/^Error executing tool \S+:/.test(head)) {
    say.confidence(0.7)
    say.error(head, 'warning')
    return true
  }
  if (frame.channel !== 'stderr' || !/^(\w*Error|Failed|Exception)\b/.test(head)) return false
  say.confidence(0.7)
  say.error(head, 'error')
  return true
}

function readInfo(frame: EngineFrame, say: Say): void {
  say.about(frame)
  const { value } = frame
  if (isRecord(value)) {
    say.confidence(0.8)
    say.fields(
      value,
      'session-id conversation-id assistantRounds executionTimeMs tokenUsage terminationReason',
    )
    say.session(value['session-id'])
    const reason = text(value['terminationReason'])
    say.status('execution_info', { usage: value['tokenUsage'], stats: value, ...(reason && { reason }) })
  } else {
    say.confidence(0.7)
    say.session(/"session-id"\s*:\s*"([^"]{1,200})"/.exec(frame.text.slice(0, 4096))?.[1])
    say.status('execution_info')
  }
  say.ended('</Execution Info>')
}
