/** What a run said and did, read from its log by a few plain loops that know nothing of the engines. */
export interface Reading {
  /** Complete messages, and those that broke off. */
  readonly messages: readonly string[]
  readonly broken: readonly string[]
  readonly reasoning: readonly string[]
  /** Name and end of each call, in the order they began. */
  readonly tools: readonly string[]
  readonly session: string | null
  readonly end: string
}

/** The exit of a run: a code, or `null` for a signal. */
type Exit = number | null

export const readings: Readonly<Record<string, (stdout: string, exit: Exit) => Reading>> = {
  cline,
  copilot,
  pi,
}

function copilot(stdout: string, exit: Exit): Reading {
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

function pi(stdout: string, exit: Exit): Reading {
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

function cline(stdout: string, exit: Exit): Reading {
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

/** `good` is what the log says of its end: well, badly, or nothing. */
function endOf(messages: readonly string[], good: boolean | undefined, exit: Exit): string {
  if (messages.some((message) => message.includes('"__SKILL_DONE__": true'))) return 'completed'
  if (good === true) return 'awaiting_user_input'
  return good === false || exit !== 0 ? 'interrupted' : 'unknown'
}

// biome-ignore lint/suspicious/noExplicitAny: these loops read logs of which nothing is known but the recordings
type Json = any

function recordsOf(stdout: string): Json[] {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .flatMap((line) => {
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })
}
