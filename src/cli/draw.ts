import type { Chat, ChatEnd, ChatOf } from '../chat/chat.ts'
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

/**
 * Draws a conversation for people, record by record: messages, thoughts dimmed, tools with their outcome,
 * artifacts, the end and why. Nothing an agent wrote can steer the terminal.
 *
 * @example
 * const show = drawing({ color: true, width: () => process.stdout.columns })
 * process.stdout.write(show(record))
 */
export function drawing({ color, width }: DrawOptions): (record: Chat) => string {
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

  const end = (mark: string, words: string, data: ChatEnd) => {
    const { evidence } = data
    const why =
      evidence.failure ??
      evidence.signal ??
      evidence.end_signal ??
      (evidence.truncated ? 'output was cut' : '')
    const exit = evidence.exit_code === null ? '' : `, exit ${evidence.exit_code}`
    const result = data.result ? `, result ${data.result.status}` : ''
    const lines = hidden > 0 ? `, ${hidden} raw ${hidden === 1 ? 'line' : 'lines'} not shown` : ''
    // Never cut to the width: how it ended is what one looks for.
    return `${mark} ${words} (${oneLine(`${data.reason_code}${why === '' ? '' : `: ${why}`}${exit}${result}${lines}`)})\n`
  }

  return (record) => {
    switch (record.type) {
      case 'conversation.started':
        return closed() + line(paint(36, '●'), `${record.engine} ${record.data.session_id}`, dim)
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
        return closed() + line(paint(33, '?'), 'turn finished, waiting for input', dim)
      case 'conversation.paused':
        return closed() + end(paint(33, '■'), 'awaiting your input', record.data)
      case 'conversation.completed':
        return closed() + end(paint(32, '■'), 'completed', record.data)
      case 'conversation.failed':
        return closed() + end(paint(31, '■'), 'failed', record.data)
      case 'diagnostic.warning': {
        const { data } = record
        if (data.state !== undefined)
          return closed() + end(paint(33, '■'), 'ended, nobody knows how', data as ChatEnd)
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
}

// Everything that moves a cursor, rings, hides or reorders: C0 but tab and LF, DEL, C1, line separators,
// bidirectional controls, lone surrogates.
const unsafe =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/gu

/** Makes text of an agent fit for a terminal: CRLF is a line end, other control characters are shown. */
export function safe(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\t', '    ')
    .replace(unsafe, (c) => (c < ' ' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : '\ufffd'))
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
