import type { Stage } from '../../base/stage.ts'
import type { AgentEvent } from '../../events/event.ts'
import { checkRedacting, type RedactOptions, type Redactor, redactor } from './redact.ts'
import { openKeyBlock } from './shapes.ts'
import { linesBefore } from './table-cells.ts'

/** Limits of the characters that wait for the end of their line, and of the messages that wait. */
const MAX_HELD = 64 * 1024
const MAX_MESSAGES = 256

/**
 * Hides secrets in events: `[redacted:kind]` in every string of `data`, keys too. Ids and `raw_ref` stay
 * unchanged.
 *
 * The pieces of a message are emitted line by line, so that no secret is cut in two: a piece has the lines
 * that it completes, the rest comes with the next piece, and the last line with the final message, which is
 * always complete. A line of more than 64 K characters comes with the final message only, and so does what
 * follows it. Thoughts are the same; the pieces of an input, which has no lines, have no text. A private key
 * that spans many raw lines is hidden as a whole. No event is held, left out or moved.
 *
 * @example
 * const hide = redactor()
 * const safe = drive(redactStage(hide), [event])
 * console.log(hide.hidden())
 */
export function redactStage(options: RedactOptions | Redactor = {}): Stage<AgentEvent, AgentEvent> {
  checkRedacting('redactStage', options)
  return (next) => {
    const hide = 'event' in options ? options : redactor(options)
    /** Text of open messages that waits for its line end; `undefined` if it waits for its final message. */
    const held = new Map<string, string | undefined>()
    /** Streams in which a private key is open, and the maximum number of lines it can continue. */
    const keys = new Map<string, number>()
    /** The last lines of the open messages and of the streams. */
    const before = new Map<string, string>()
    const hideAfter = (where: string, text: string, count: boolean): string => {
      const after = before.get(where) ?? ''
      before.set(where, linesBefore(`${after}${text}`))
      return hide.text(text, { count, after })
    }

    const piece = (id: string, text: string): string => {
      const waiting = held.get(id)
      if (held.has(id) && waiting === undefined) return ''
      const all = (waiting ?? '') + text
      const line = all.lastIndexOf('\n') + 1
      // Only in complete lines: the line that ends a key is part of it.
      const open = openKeyBlock(all.slice(0, line))
      const sure = open < 0 ? line : Math.min(line, open)
      const rest = all.slice(sure)
      if (held.size >= MAX_MESSAGES && !held.has(id)) {
        // The oldest loses its held text; its final message has it.
        const [oldest = ''] = held.keys()
        held.set(oldest, undefined)
        before.delete(`m:${oldest}`)
      }
      held.set(id, rest.length > MAX_HELD ? undefined : rest)
      // They are counted in the final message.
      return sure === 0 ? '' : hideAfter(`m:${id}`, all.slice(0, sure), false)
    }
    const rawLine = (stream: string, line: string): string => {
      const left = keys.get(stream) ?? 0
      if (left > 0) {
        keys.set(stream, line.includes('-----END ') ? 0 : left - 1)
        return '[redacted:private-key]'
      }
      const shown = hideAfter(stream, `${line}\n`, true).replace(/\n$/, '')
      if (openKeyBlock(line) >= 0) {
        keys.set(stream, MAX_KEY_LINES)
        // The lines of the key are not searched, nor is what follows it taken for a part of it.
        before.delete(stream)
      }
      return shown
    }

    return {
      write(event) {
        switch (event.type) {
          case 'agent.message.delta':
          case 'agent.reasoning.delta': {
            // Cast: joins `type` and `data` again.
            const text = piece(pieceKey(event), event.data.text)
            next.write({ ...event, data: { ...event.data, text } } as AgentEvent)
            return
          }
          case 'tool.call.input.delta':
            next.write({ ...event, data: { ...event.data, text: '' } })
            return
          case 'agent.message.final':
          case 'agent.reasoning.summary':
            held.delete(pieceKey(event))
            before.delete(`m:${pieceKey(event)}`)
            next.write(hide.event(event))
            return
          case 'raw.stdout':
          case 'raw.stderr':
          case 'raw.pty':
          case 'raw.stdin': {
            const line = rawLine(event.type, event.data.line)
            const same = line === event.data.line
            next.write(hide.event(same ? event : { ...event, data: { ...event.data, line } }))
            return
          }
          default:
            next.write(hide.event(event))
        }
      },
      end() {
        next.end()
      },
    }
  }
}

/** A message and a thought may have one id. */
function pieceKey({ type, data }: Extract<AgentEvent, { readonly data: { readonly message_id: string } }>) {
  return `${type.split('.', 2)[1]} ${data.message_id}`
}

const MAX_KEY_LINES = 300
