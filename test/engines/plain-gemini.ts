import { Calls, endOf, type Json, type Reading, recordsOf, type Written } from './plain-records.ts'
import { text } from './plain-text.ts'

/** Gemini: records of stream-json, the document of json mode on either stream, or plain text. */
export function gemini(written: Written): Reading {
  const { stdout, stderr, exit } = written
  const records = recordsOf(stdout).filter(({ type, timestamp }) => type && timestamp)
  if (records.length > 0) return stream(records, exit)
  const document = documentIn(stdout) ?? documentIn(stderr)
  const cut = /^\{\n? *"(session_id|response)"/m.test(stdout) && !document
  if (!document && !cut) return text({ ...written, stdout: withoutNotices(stdout) })
  const messages = document?.response === undefined ? [] : [document.response]
  const session = document?.session_id ?? /"session_id": "([^"]+)"/.exec(stdout)?.[1] ?? null
  const told = cut ? 'cut' : !document.error
  return { messages, broken: [], reasoning: [], tools: [], session, end: endOf(messages, told, exit) }
}

function stream(records: Json[], exit: number | null): Reading {
  const calls = new Calls()
  const messages: string[] = []
  let open: string | undefined
  for (const { type, role, content, delta, tool_id, tool_name, status } of records) {
    const piece = type === 'message' && role === 'assistant' && delta
    if (piece) open = (open ?? '') + content
    else if (open !== undefined && type !== 'error') {
      messages.push(open)
      open = undefined
    }
    if (type === 'message' && role === 'assistant' && !delta) messages.push(content)
    if (type === 'tool_use') calls.begin(tool_id, tool_name)
    if (type === 'tool_result') calls.end(tool_id, status === 'success')
  }
  const last = records.findLast(({ type }) => type === 'result' || type === 'init')
  const told = last?.type === 'result' ? last.status === 'success' : undefined
  const broken = open === undefined ? [] : [open]
  const session = records.find(({ type }) => type === 'init')?.session_id ?? null
  return { messages, broken, reasoning: [], tools: calls.told(), session, end: endOf(messages, told, exit) }
}

/** The last document that ends a line. */
function documentIn(log: string): Json {
  const starts = [...log.matchAll(/\{(?=\s*"(?:session_id|response|stats|error)")/g)].map(
    ({ index }) => index,
  )
  for (const from of starts.reverse()) {
    const ends = [...log.slice(from).matchAll(/\}$/gm)].map(({ index }) => from + index + 1)
    for (const to of ends) {
      try {
        const value = JSON.parse(log.slice(from, to))
        if ('response' in value || (value.error?.message && (value.session_id || value.error.type)))
          return value
      } catch {}
    }
  }
  return undefined
}

/** A terminal has what the CLI says at its start, and the trace of its failure, beside the answer. */
function withoutNotices(log: string): string {
  const failure = log.indexOf('Error when talking to Gemini API')
  return log
    .slice(0, failure < 0 ? undefined : failure)
    .split('\n')
    .filter((line) => !/^(Warning: True color|YOLO mode is enabled|Ripgrep is not available)/.test(line))
    .join('\n')
}
