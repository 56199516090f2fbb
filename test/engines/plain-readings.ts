import { readAcp } from './acp-reading.ts'
import { claude } from './plain-claude.ts'
import { codex } from './plain-codex.ts'
import { gemini } from './plain-gemini.ts'
import { Calls, endOf, type Json, type Reading, recordsOf, type Written } from './plain-records.ts'
import { text } from './plain-text.ts'

/** A second reading of what each engine writes; none of them uses the engine. */
export const readings: Readonly<Record<string, (written: Written) => Reading>> = {
  acp,
  amp: claude,
  claude,
  cline,
  codex,
  continue: continueCli,
  copilot,
  cursor,
  droid,
  gemini,
  grok,
  iflow,
  kilo: opencode,
  nanocoder,
  opencode,
  pi,
  qwen: claude,
  text,
}

function opencode({ stdout, exit }: Written): Reading {
  const records = recordsOf(stdout).filter(({ sessionID }) => sessionID)
  const of = (type: string) => records.filter((record) => record.type === type).map(({ part }) => part)
  const messages = of('text').map(({ text }) => text)
  const bad = ({ tool, state }: Json) =>
    state.status === 'error' || state.metadata?.exit || tool === 'invalid'
  const last = records.findLast(({ type, part }) => type === 'error' || type === 'step_start' || part?.reason)
  const reason = last?.type === 'error' ? 'error' : last?.part.reason
  const told = { stop: true, error: false, length: false }[reason as string]
  return {
    messages,
    broken: [],
    reasoning: of('reasoning').map(({ text }) => text),
    tools: of('tool_use').map((part) => `${part.tool} ${bad(part) ? 'failed' : 'completed'}`),
    session: records[0]?.sessionID ?? null,
    end: endOf(messages, told, exit),
  }
}

function acp(written: Written): Reading {
  const { asked: _, ...reading } = readAcp(written)
  return reading
}

function cursor({ stdout, exit }: Written): Reading {
  const records = recordsOf(stdout)
  const calls = new Calls()
  const messages: string[] = []
  const reasoning: string[] = []
  let thought = ''
  let pieces: string | undefined
  for (const { type, subtype, text, message, call_id, tool_call, timestamp_ms, model_call_id } of records) {
    if (type === 'thinking' && subtype === 'delta') thought += text
    else if (thought !== '') reasoning.push(thought)
    if (!(type === 'thinking' && subtype === 'delta')) thought = ''
    const words = type === 'assistant' ? message.content.map((one: Json) => one.text).join('') : undefined
    if (words !== undefined && timestamp_ms && !model_call_id) pieces = (pieces ?? '') + words
    else if (pieces !== undefined) {
      messages.push(pieces)
      pieces = undefined
    } else if (words !== undefined && !(messages.length > 0 && words.endsWith(messages.at(-1)!)))
      messages.push(words)
    if (type !== 'tool_call') continue
    const [name, body] = Object.entries<Json>(tool_call)[0]!
    if (subtype === 'started') calls.begin(call_id, name)
    else calls.end(call_id, body.result?.success !== undefined && !body.result.success.exitCode, name)
  }
  const result = records.findLast(({ type }) => type === 'result')
  const good = result && result.subtype === 'success' && !result.is_error
  if (good && messages.length === 0) messages.push(result.result)
  return {
    messages,
    broken: pieces === undefined ? [] : [pieces],
    reasoning: thought === '' ? reasoning : [...reasoning, thought],
    tools: calls.told(),
    session: records.find(({ session_id }) => session_id)?.session_id ?? null,
    end: endOf(messages, good ?? (isCut(stdout) ? 'cut' : undefined), exit),
  }
}

function droid({ stdout, exit }: Written): Reading {
  const records = recordsOf(stdout)
  const of = (type: string) => records.filter((record) => record.type === type)
  const messages = of('message').flatMap(({ role, text }) => (role === 'assistant' ? [text] : []))
  const calls = of('tool_call')
  const results = of('tool_result')
  const idOf = (one: Json) => one.toolCallId ?? one.id
  const resultOf = (call: Json, index: number) =>
    results.find((one) => idOf(one) === idOf(call)) ?? results.filter((one) => !idOf(one))[index]
  const completion = of('completion')[0]
  if (completion && messages.length === 0) messages.push(completion.finalText)
  return {
    messages,
    broken: [],
    reasoning: [],
    tools: calls.map((call, index) => {
      const result = resultOf(call, index)
      return `${call.toolName} ${!result ? 'open' : result.isError ? 'failed' : 'completed'}`
    }),
    session: records.map((one) => one.session_id ?? one.sessionId).find(Boolean) ?? null,
    end: endOf(messages, completion ? true : isCut(stdout) ? 'cut' : undefined, exit),
  }
}

function grok({ stdout, exit }: Written): Reading {
  const records = recordsOf(stdout)
  const sorry = 'Sorry, I encountered an error: '
  const said = records.filter(({ role }) => role === 'assistant')
  const messages = said.map(({ content }) => content ?? '').filter((one) => one && !one.startsWith(sorry))
  const calls = new Calls()
  const nameOf = (id: string) =>
    said.flatMap((one) => one.tool_calls ?? []).find((call: Json) => call.id === id).function.name
  for (const { role, tool_calls, tool_call_id, content } of records) {
    for (const call of tool_calls ?? []) calls.begin(call.id, call.function.name)
    if (role !== 'tool') continue
    calls.end(
      tool_call_id,
      !content.startsWith(nameOf(tool_call_id) === 'bash' ? 'Command failed: ' : 'Error '),
    )
  }
  const failed = said.some(({ content }) => content?.startsWith(sorry))
  return {
    messages,
    broken: [],
    reasoning: [],
    tools: calls.told(),
    session: null,
    end: endOf(messages, failed ? false : isCut(stdout) ? 'cut' : undefined, exit),
  }
}

function nanocoder(written: Written): Reading {
  const { stdout, exit } = written
  if (!/^\{\s*"kind"/.test(stdout)) return text(written)
  let document: Json
  try {
    document = JSON.parse(stdout)
  } catch {
    return { ...text({ stdout: '', stderr: '', exit }), end: 'interrupted' }
  }
  const { finalText, reasoning, toolCalls, kind, exitCode } = document
  const good = kind === 'success' && exitCode === 0
  const bad = ({ name, error, result }: Json) =>
    error !== null || (name === 'execute_bash' && /^EXIT_CODE: [1-9]/.test(result))
  const said = finalText ? [finalText] : []
  return {
    messages: good ? said : [],
    broken: good ? [] : said,
    reasoning: reasoning ? [reasoning] : [],
    tools: toolCalls.map((call: Json) => `${call.name} ${bad(call) ? 'failed' : 'completed'}`),
    session: null,
    end: endOf(said, good, exit),
  }
}

function continueCli(written: Written): Reading {
  const { stdout, stderr, exit } = written
  const failed = recordsOf(stderr).some(({ status }) => status === 'error')
  const [envelope] = recordsOf(stdout)
  const told = envelope?.status === 'success' && envelope.note
  if (!told) {
    const cut = stdout.startsWith('{"response":"') && !envelope
    const said = text({ ...written, stdout: failed || cut ? '' : stdout })
    return failed || cut ? { ...said, end: 'interrupted' } : said
  }
  const messages = [envelope.response]
  return { ...text(written), messages, end: endOf(messages, true, exit) }
}

/** The last `<Execution Info>` is the engine's, on stderr rather than on stdout; it ends the run. */
function iflow({ stdout, stderr, exit }: Written): Reading {
  const mark = '<Execution Info>'
  const [place, rest] = stderr.includes(mark) ? [stderr, stdout] : [stdout, '']
  const at = place.lastIndexOf(mark)
  const info = at < 0 ? '' : place.slice(at)
  const words = at < 0 ? stdout : rest || stdout.slice(0, at).replace(/\n+$/, '')
  const notice = /^Resumed session (session-[\w-]+)\.\n/.exec(words)
  const said = text({ stdout: words.slice(notice?.[0].length ?? 0), stderr, exit })
  const told = /"session-id": "(session-[\w-]+)"/.exec(info)?.[1]
  const session = told ?? notice?.[1] ?? /session (session-[\w-]+)/.exec(stderr)?.[1] ?? null
  return { ...said, session, end: endOf(said.messages, info === '' ? undefined : true, exit) }
}

function isCut(stdout: string): boolean {
  return stdout.split('\n').at(-1)!.startsWith('{')
}

function copilot({ stdout, exit }: Written): Reading {
  const records = recordsOf(stdout)
  const of = (type: string) => records.filter((record) => record.type === type).map(({ data }) => data)
  const spoken = of('assistant.message').filter(({ content }) => content !== '')
  const pieces = new Map<string, string>()
  for (const { messageId, deltaContent } of of('assistant.message_delta'))
    pieces.set(messageId, (pieces.get(messageId) ?? '') + deltaContent)
  for (const { messageId } of spoken) pieces.delete(messageId)
  const result = records.find(({ type }) => type === 'result')
  const messages = spoken.map(({ content }) => content)
  const good = ({ success, shellExecution }: Json) => success && !shellExecution?.exitCode
  const ends = new Map(
    of('tool.execution_complete').map((data) => [data.toolCallId, good(data) ? 'completed' : 'failed']),
  )
  return {
    messages,
    broken: [...pieces.values()],
    reasoning: of('assistant.message').flatMap(({ reasoningText }) => reasoningText ?? []),
    tools: of('tool.execution_start').map(
      ({ toolCallId, toolName }) => `${toolName} ${ends.get(toolCallId) ?? 'open'}`,
    ),
    session: result?.sessionId ?? null,
    end: endOf(messages, result && result.exitCode === 0, exit),
  }
}

function pi({ stdout, exit }: Written): Reading {
  const records = recordsOf(stdout)
  const of = (type: string) => records.filter((record) => record.type === type)
  const spoken = of('message_end').flatMap(({ message }) => (message.role === 'assistant' ? [message] : []))
  const words = (message: Json) => message.content.flatMap(({ text }: Json) => text || [])
  const isBroken = ({ stopReason }: Json) => stopReason === 'error' || stopReason === 'aborted'
  // What a killed run was about to say.
  const last = records.findLastIndex(({ type }) => type === 'message_start' || type === 'message_end')
  const rest = records.slice(last).flatMap(({ assistantMessageEvent: event }) => event ?? [])
  const left = rest.map(({ type, delta }) => (type === 'text_delta' ? delta : '')).join('')
  const messages = spoken.filter((message) => !isBroken(message)).flatMap(words)
  const ends = new Map(
    of('tool_execution_end').map(({ toolCallId, isError }) => [toolCallId, isError ? 'failed' : 'completed']),
  )
  const ended = records.some(({ type }) => type === 'agent_end') && records.at(-1).type.startsWith('agent_')
  return {
    messages,
    broken: [...spoken.filter(isBroken).flatMap(words), ...(left === '' ? [] : [left])],
    reasoning: spoken.flatMap(({ content }) => content.flatMap(({ thinking }: Json) => thinking ?? [])),
    tools: of('tool_execution_start').map(
      ({ toolCallId, toolName }) => `${toolName} ${ends.get(toolCallId) ?? 'open'}`,
    ),
    session: of('session')[0]?.id ?? null,
    end: endOf(messages, ended ? !isBroken(spoken.at(-1)) : undefined, exit),
  }
}

function cline({ stdout, exit }: Written): Reading {
  const records = recordsOf(stdout)
  const inner = records.flatMap(({ event }) => event ?? [])
  const of = (type: string, contentType: string) =>
    inner.filter((event) => event.type === type && event.contentType === contentType)
  const messages = of('content_end', 'text').map(({ text }) => text)
  const last = inner.findLastIndex(
    ({ type, contentType }) => type === 'content_end' && contentType === 'text',
  )
  const left = inner.slice(last + 1).map((event) => (event.contentType === 'text' ? event.text : ''))
  const ends = new Map(
    of('content_end', 'tool').map(({ toolCallId, error, output }) => [
      toolCallId,
      error || output.some(({ success }: Json) => success === false) ? 'failed' : 'completed',
    ]),
  )
  const result = records.find(({ type }) => type === 'run_result')
  return {
    messages,
    broken: left.join('') === '' ? [] : [left.join('')],
    reasoning: of('content_end', 'reasoning').map(({ reasoning }) => reasoning),
    tools: of('content_start', 'tool').map(
      ({ toolCallId, toolName }) => `${toolName} ${ends.get(toolCallId) ?? 'open'}`,
    ),
    session: records.find(({ taskId }) => taskId)?.taskId ?? null,
    end: endOf(messages, result && result.finishReason === 'completed', exit),
  }
}
