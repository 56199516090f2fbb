import type { Chat, ChatEnd, ChatOf } from '../chat/chat.ts'
import { outcomeOf, outcomeWords } from '../events/run-outcome.ts'
import { safe } from './safe.ts'
import { fitTo } from './width.ts'

export interface DrawOptions {
  readonly color: boolean
  /** Columns of the terminal; asked each time, for it can be resized. */
  readonly width: () => number
}

/** Codes that matter to a parser's author, not to who reads a conversation. */
const quiet = new Set([
  'RAW_LINE',
  'LOW_CONFIDENCE_PARSE',
  'UNKNOWN_TYPE',
  'UNKNOWN_FIELD',
  'DRIFT_REPORT',
  'ENGINE_PICKED',
])

/** Draws the records of a conversation, and how an attempt ended. */
export interface Drawing {
  (record: Chat): string
  /** The end, its outcome and why: from the completion of the run, which knows the exit, not from the chat records. */
  end(data: ChatEnd): string
}

/** Green, yellow, red. */
const outcomeColors = { succeeded: 32, needs_input: 33, failed: 31, cancelled: 33, unknown: 33 }

/**
 * Draws a conversation for people, record by record: messages, thoughts dimmed, tools with their outcome,
 * artifacts; `end` draws the end and why. Nothing an agent wrote can steer the terminal.
 *
 * @example
 * const draw = drawing({ color: true, width: () => process.stdout.columns })
 * process.stdout.write(draw(record))
 */
export function drawing({ color, width }: DrawOptions): Drawing {
  const paint = (code: number, text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text)
  const dim = (text: string) => paint(2, text)
  const line = (mark: string, text: string, style = (s: string) => s) =>
    `${mark} ${style(fitTo(oneLine(text), Math.max(10, width() - 2)))}\n`
  /** The message whose pieces were shown, and what of it. */
  let streaming: { id: string; text: string } | undefined
  let hidden = 0

  /** Ends a message that was shown piece by piece, before anything else is shown. */
  const closed = () => {
    const open = streaming
    streaming = undefined
    return open && !open.text.endsWith('\n') ? '\n' : ''
  }

  const delta = ({ message_id, text }: ChatOf<'assistant.message.delta'>['data']) => {
    const before = streaming?.id === message_id ? '' : closed()
    streaming = { id: message_id, text: (before === '' ? (streaming?.text ?? '') : '') + text }
    return before + safe(text)
  }

  const message = ({ message_id, text, incomplete }: ChatOf<'assistant.message.final'>['data']) => {
    const shown = streaming?.id === message_id && streaming.text === text
    const end = incomplete ? dim('  (cut off)\n') : ''
    return shown ? closed() + end : `${closed()}${safe(text)}${text.endsWith('\n') ? '' : '\n'}${end}`
  }

  const tool = (data: ChatOf<'assistant.tool_call'>['data']) => {
    const what = `${data.name} ${summary(data.input)}`.trim()
    if (data.phase === 'started') return line(paint(36, '▸'), what, dim)
    const code = data.exit_code === undefined ? '' : ` exit ${data.exit_code}`
    if (data.phase === 'completed')
      return line(paint(32, '✓'), `${data.name}${code} ${firstLine(data.output)}`, dim)
    return line(paint(31, '✗'), `${data.name}${code} ${data.error ?? firstLine(data.output)}`)
  }

  const end = (data: ChatEnd) => {
    const { evidence } = data
    const outcome = outcomeOf(data)
    const mark = paint(outcomeColors[outcome], '■')
    const why =
      evidence.failure ??
      evidence.signal ??
      evidence.end_signal ??
      (evidence.truncated ? 'output was cut' : '')
    const exit = evidence.exit_code === null ? '' : `, exit ${evidence.exit_code}`
    const result = data.result ? `, result ${data.result.status}` : ''
    const lines = hidden > 0 ? `, ${hidden} raw ${hidden === 1 ? 'line' : 'lines'} not shown` : ''
    // Never cut to the width: how it ended is what one looks for.
    return `${closed()}${mark} ${outcome}: ${outcomeWords[outcome]} (${oneLine(`${data.reason_code}${why === '' ? '' : `: ${why}`}${exit}${result}${lines}`)})\n`
  }

  const draw = (record: Chat): string => {
    switch (record.type) {
      case 'conversation.started':
        return closed() + line(paint(36, '●'), `${record.engine} ${record.data.session_id}`, dim)
      case 'user.message':
        return closed() + line(paint(35, '>'), record.data.text, dim)
      case 'assistant.message.delta':
        return delta(record.data)
      case 'assistant.message.final':
        return message(record.data)
      case 'assistant.reasoning':
        return `${closed() + dim(safe(record.data.text).trimEnd())}\n`
      case 'assistant.tool_call':
        return closed() + tool(record.data)
      case 'artifact.created':
        return closed() + line(paint(32, '+'), record.data.path)
      case 'artifact.modified':
        return closed() + line(paint(33, '~'), record.data.path)
      case 'artifact.deleted':
        return closed() + line(paint(31, '-'), record.data.path)
      case 'user.input.required':
        return closed() + line(paint(33, '?'), outcomeWords.needs_input, dim)
      case 'conversation.completed':
      case 'conversation.failed':
        return closed()
      case 'diagnostic.warning': {
        const { data } = record
        if (data.state !== undefined) return closed()
        if (quiet.has(data.code) || data.severity === 'info') return ''
        const bad = data.severity === 'error' || data.severity === 'fatal'
        return (
          closed() + line(paint(bad ? 31 : 33, '!'), `${data.code}: ${data.message}`, bad ? undefined : dim)
        )
      }
      case 'raw.stdout':
      case 'raw.stderr':
      case 'raw.pty':
        hidden++
        return ''
    }
  }
  return Object.assign(draw, { end })
}

function oneLine(text: string): string {
  return safe(text.slice(0, 2000)).replaceAll('\n', ' ').trimEnd()
}

function firstLine(output: unknown): string {
  const text = typeof output === 'string' ? output : output === undefined ? '' : JSON.stringify(output)
  const head = text.slice(0, 500).trimStart()
  const end = head.indexOf('\n')
  return end < 0 ? head : head.slice(0, end)
}

/** The command, the path or the query of a call; else its arguments as JSON. */
function summary(input: unknown): string {
  if (input === undefined || input === null) return ''
  if (typeof input !== 'object') return String(input)
  for (const key of ['command', 'file_path', 'filePath', 'path', 'query', 'pattern', 'url']) {
    const value = (input as Record<string, unknown>)[key]
    if (typeof value === 'string') return value
  }
  const { changes } = input as { changes?: unknown }
  const paths = Array.isArray(changes) ? changes.map((change) => String(change?.path)) : []
  return paths.length > 0 ? paths.join(' ') : JSON.stringify(input).slice(0, 500)
}
