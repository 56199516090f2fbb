import { type Engine, type EngineFrame, isRecord, type Say, text } from '../events/engine.ts'
import { prose } from './answer-text.ts'
import { tokenParts } from './token-parts.ts'

/**
 * iFlow: text, in three layers, each of which works without the others. Lines that a pattern matches (0.7),
 * blocks of JSON (0.8), and the rest, which is the answer (0.3 to 0.6). `<Execution Info>` ends the run and
 * can be on either stream.
 */
export const iflow: Engine = {
  name: 'iflow',
  parser: 'iflow_text',
  cut: { stdout: 'text', stderr: 'text', pty: 'text', blocks: ['Execution Info'] },
  about: 'iflow -p; 0.5, rebuilt from its write templates, not run',
  shape: (frame) => frame.label === 'Execution Info' && (isRecord(frame.value) || isAlone(frame)),
  open(limits) {
    const answer = prose(limits)
    let info: EngineFrame | undefined
    /** The answer has begun: what looks like a notice may now be the model's words. */
    let answering = false
    /** A line has named the session. */
    let known = false
    return {
      read(frame, say) {
        if (frame.label !== undefined && frame.channel === 'stderr') {
          if (info) say.giveBack(info)
          info = frame
          return 'kept'
        }
        const plain = frame.label === undefined
        if (plain && !(answering && frame.channel !== 'stderr') && readNotice(frame, say)) {
          known = true
          return true
        }
        if (plain && readError(frame, say)) return true
        if (frame.channel === 'stderr') return false
        answering = true
        return answer.keep(frame, say)
      },
      end(say) {
        const last = answer.frames().findLastIndex(({ blank }) => !blank)
        // The model can print such a block too: it counts only if stderr has none, and then the last one
        // does. One on the same line as other text counts only at the end of the text: elsewhere it is a
        // quote.
        info ??= answer.takeLast(
          (frame, index) =>
            frame.label !== undefined &&
            (isAlone(frame) || index === last || endsLine(answer.frames(), index)),
        )
        // The session is reported first: it starts the conversation.
        if (info) sayAbout(info, say).session(sessionOf(info))
        else if (!known) {
          const line = answer.takeLast((frame, index) => index === last && namedSession(frame) !== undefined)
          if (line) sayAbout(line, say).session(namedSession(line))
        }
        answer.speak(say)
        if (info) readInfo(info, say)
      },
    }
  },
}

/** True if the marks of a block are on lines of their own. */
function isAlone({ glue, text }: EngineFrame): boolean {
  return glue === undefined && text.startsWith('\n')
}

/**
 * True if only the opener follows other text, an answer without a final line break: a sentence continues with
 * a blank, or a colon.
 */
function endsLine(frames: readonly EngineFrame[], index: number): boolean {
  const { glue, text, open, value } = frames[index]!
  const apart = glue === '' && text.startsWith('\n') && text.endsWith('\n')
  const goesOn = [' ', '\t', ':'].includes(frames[index - 1]?.text.at(-1) ?? ' ')
  return apart && !goesOn && !open && isRecord(value) && frames[index + 1]?.glue === undefined
}

/** Reports about a frame that was kept; a JSON block that parses is more certain than a pattern. */
function sayAbout(frame: EngineFrame, say: Say): Say {
  say.about(frame)
  say.confidence(isRecord(frame.value) ? 0.8 : 0.7)
  return say
}

function readNotice(frame: EngineFrame, say: Say): boolean {
  const head = frame.text.slice(0, 500)
  const resumed = (frame.channel === 'stderr' ? loggedNotice : notice).exec(head)?.[1]
  const id = resumed ?? namedSession(frame)
  if (id === undefined || !/\d/.test(id.slice(0, 200))) return false
  say.confidence(0.7)
  say.session(id)
  if (resumed !== undefined) say.status('resumed')
  return true
}

/**
 * `ℹ️  Resuming session session-… (6 messages loaded)`, with or without the text around the id, and nothing
 * else on the line.
 */
const notice =
  /^(?:ℹ\ufe0f? {1,2})?(?:Resum|Continu|Restor)(?:ing|ed) (?:from )?(?:session|conversation):? ["'`]?([\w-]{8,100})["'`]?(?:\.{1,3}|…)?(?: \([^()]{1,60}\))?\.?$/iu

/** The model does not write to stderr, and a log line may begin with its time and level. */
const loggedNotice =
  /\b(?:Resum|Continu|Restor)(?:ing|ed) (?:from )?(?:session|conversation):? ["'`]?([\w-]{8,100})["'`]?(?:\.{1,3}|…)?(?: \([^()]{1,60}\))?\.?$/iu

/** The id on a line that names the session: `session-id: …`, `"session-id": "…",`. */
function namedSession({ text }: EngineFrame): string | undefined {
  const id = sessionLine.exec(text.slice(0, 300))?.[1]
  return id !== undefined && /\d/.test(id) ? id : undefined
}

const sessionLine = /^\W{0,8}session[-_ ]?id\W{1,4}([\w-]{8,100})\W{0,3}$/i

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

function sessionOf({ value, text: inner }: EngineFrame): unknown {
  if (isRecord(value)) return value['session-id']
  const head = inner.slice(0, 4096)
  return (
    /"session-id"\s*:\s*"([^"]{1,200})"/.exec(head)?.[1] ??
    /session-id\s*[:=]\s*([\w-]{8,100})/.exec(head)?.[1]
  )
}

function readInfo(frame: EngineFrame, say: Say): void {
  const { value, open } = frame
  sayAbout(frame, say)
  if (isRecord(value)) {
    say.fields(
      value,
      'session-id conversation-id assistantRounds executionTimeMs tokenUsage terminationReason',
    )
    const reason = text(value['terminationReason'])
    const usage = value['tokenUsage']
    const tokens = isRecord(usage) ? tokenParts(usage) : undefined
    say.status('execution_info', { usage, tokens, stats: value, ...(reason && { reason }) })
  } else say.status('execution_info')
  if (open && !isRecord(value)) say.truncated('the Execution Info has no end')
  else say.ended('</Execution Info>')
}
