import { readFileSync } from 'node:fs'

/** What a run told: an independent reading, which uses no engine. */
export interface Told {
  readonly texts: readonly string[]
  readonly thoughts: readonly string[]
  /** `ok`, `failed` or `open`, in the order the calls began. */
  readonly tools: readonly string[]
  readonly end: 'ended' | 'failed' | 'unknown'
  readonly session: string | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: records of other programs, read by hand
type Line = any

/** Reads what a CLI printed (`same-run.stdout.log`). */
export function printed(engine: string, file: string): Told {
  const texts: string[] = []
  const thoughts: string[] = []
  const tools = new Map<string, string>()
  let end: Told['end'] = 'unknown'
  let session: string | undefined
  /** Gemini's deltas that follow each other are one message. */
  let piece: string | undefined
  const read: Record<string, (line: Line) => void> = {
    codex(line) {
      const { item, type } = line
      if (type === 'thread.started') session = line.thread_id
      if (type === 'turn.completed') end = 'ended'
      if (type === 'turn.failed') end = 'failed'
      if (!item) return
      const done = type === 'item.completed'
      if (done && item.type === 'agent_message') texts.push(item.text)
      if (done && item.type === 'reasoning') thoughts.push(item.text)
      if (item.type === 'command_execution' || item.type === 'file_change')
        tools.set(item.id, !done ? 'open' : item.status === 'completed' ? 'ok' : 'failed')
    },
    qwen(line) {
      session ??= line.session_id
      if (line.type === 'result') end = line.is_error ? 'failed' : 'ended'
      const content = Array.isArray(line.message?.content) ? line.message.content : []
      for (const block of content) {
        if (line.type === 'assistant' && block.type === 'text') texts.push(block.text)
        if (block.type === 'thinking') thoughts.push(block.thinking)
        if (block.type === 'tool_use') tools.set(block.id, 'open')
        if (block.type === 'tool_result') tools.set(block.tool_use_id, block.is_error ? 'failed' : 'ok')
      }
    },
    gemini(line) {
      if (line.type === 'init') session = line.session_id
      const spoken = line.type === 'message' && line.role === 'assistant'
      if (spoken && piece !== undefined) texts.push(texts.pop() + line.content)
      else if (spoken) texts.push(line.content)
      piece = spoken ? line.content : undefined
      if (line.type === 'result') end = line.status === 'success' ? 'ended' : 'failed'
      if (line.type === 'tool_use') tools.set(line.tool_id, 'open')
      if (line.type === 'tool_result') tools.set(line.tool_id, line.status === 'success' ? 'ok' : 'failed')
    },
    pi(line) {
      if (line.type === 'session') session = line.id
      if (line.type !== 'message_end') return
      const { role, content, stopReason } = line.message
      if (role === 'toolResult') tools.set(line.message.toolCallId, line.message.isError ? 'failed' : 'ok')
      if (role !== 'assistant') return
      end = stopReason === 'stop' ? 'ended' : stopReason === 'toolUse' ? 'unknown' : 'failed'
      for (const block of content) {
        if (block.type === 'text') texts.push(block.text)
        if (block.type === 'thinking') thoughts.push(block.thinking)
        if (block.type === 'toolCall') tools.set(block.id, 'open')
      }
    },
    copilot({ type, data, sessionId, exitCode }) {
      if (type === 'result') {
        session = sessionId
        end = exitCode === 0 ? 'ended' : 'failed'
      }
      if (type === 'assistant.message' && data.reasoningText) thoughts.push(data.reasoningText)
      if (type === 'assistant.message' && data.content) texts.push(data.content)
      if (type === 'tool.execution_start') tools.set(data.toolCallId, 'open')
      if (type === 'tool.execution_complete')
        tools.set(data.toolCallId, data.success && !data.shellExecution?.exitCode ? 'ok' : 'failed')
    },
    opencode(line) {
      const { type, part = {} } = line
      session ??= line.sessionID
      if (type === 'text') texts.push(part.text)
      if (type === 'reasoning') thoughts.push(part.text)
      if (type === 'tool_use')
        tools.set(part.callID, part.state.status === 'error' || part.state.metadata?.exit ? 'failed' : 'ok')
      if (type === 'step_finish' && part.reason === 'stop') end = 'ended'
      if (type === 'error') end = 'failed'
    },
    cline({ type, event = {}, finishReason }) {
      const { contentType, toolCallId } = event
      if (event.type === 'content_end' && contentType === 'text') texts.push(event.text)
      if (event.type === 'content_start' && contentType === 'tool') tools.set(toolCallId, 'open')
      if (event.type === 'content_end' && contentType === 'tool')
        tools.set(toolCallId, event.error || event.output?.[0]?.success === false ? 'failed' : 'ok')
      if (type === 'run_result') end = finishReason === 'completed' ? 'ended' : 'failed'
    },
  }
  for (const line of records(file)) read[engine]!(line)
  return { texts, thoughts, tools: [...tools.values()], end, session }
}

/** The JSON lines of a file; other lines are left out. */
function records(file: string): Line[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })
}
