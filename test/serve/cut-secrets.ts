import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentEvent } from '../../src/events/event.ts'
import { type Fixture, fixtures } from '../engines/fixture.ts'

/** Made of chance; any four characters of it in a row are found nowhere else. */
export const SECRET = 'ghp_Zq7Xw2Vb9Nk4Jt6Hs8Rd3Mf5Lc1PyGuEoAi0'

/** What is seen of the secret in a text: stretches of four characters and more. */
export function seenIn(text: string): string[] {
  const seen: string[] = []
  for (let at = 4; at + 4 <= SECRET.length; at++)
    if (text.includes(SECRET.slice(at, at + 4))) seen.push(SECRET.slice(at, at + 4))
  return seen
}

/**
 * A recorded run whose log can be had with a secret in it that its engine has cut over the records of a
 * message.
 */
export interface Streamed {
  readonly name: string
  readonly fixture: Fixture
  /** The log of stdout with the secret cut behind so many of its characters, and then every four. */
  readonly planted: (cut: number) => Buffer
}

/** Runs of all engines that send messages in pieces, the ones that differ in how. */
export function streamedRuns(): Streamed[] {
  return fixtures().flatMap((fixture) => {
    const stdout = fixture.logs.find(({ channel }) => channel === 'stdout')
    const pieces = stdout ? longestMessage(recordedDeltas(fixture)) : []
    // Plain text comes line by line, and no line has a part of a key.
    const isRecord = ({ raw_ref }: Delta) => stdout?.bytes[raw_ref!.byte_from] === 0x7b
    if (!stdout || pieces.length < 2 || !pieces.every(isRecord)) return []
    const planted = (cut: number) => plant(stdout.bytes, pieces, cut)
    return [{ name: `${fixture.engine}/${fixture.name}`, fixture, planted }]
  })
}

type Delta = Extract<AgentEvent, { type: 'agent.message.delta' }>

/** The pieces of messages on stdout, from the events that are committed with the fixture. */
function recordedDeltas({ path }: Fixture): Delta[] {
  return readFileSync(join(path, 'events.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('agent.message.delta'))
    .map((line) => JSON.parse(line) as AgentEvent)
    .filter((event) => event.type === 'agent.message.delta')
    .filter(({ raw_ref }) => raw_ref?.stream === 'stdout')
}

/** The pieces of the message that has most. */
function longestMessage(deltas: readonly Delta[]): Delta[] {
  const messages = new Map<string, Delta[]>()
  for (const delta of deltas) {
    const { message_id } = delta.data
    const known = messages.get(message_id)
    if (known) known.push(delta)
    else messages.set(message_id, [delta])
  }
  return [...messages.values()].sort((a, b) => b.length - a.length)[0] ?? []
}

/**
 * The log with other words in the place of one message: in the records of its pieces, and wherever a record
 * says all of it, or all of it so far.
 */
function plant(log: Uint8Array, deltas: readonly Delta[], cut: number): Buffer {
  const told = deltas.map(({ data }) => data.text)
  const text = `It is ${SECRET} as you said.`
  const words = cutInto(text, 6 + cut, told.length)
  const others = new Map<string, string>()
  for (let i = 1; i <= told.length; i++) others.set(told.slice(0, i).join(''), words.slice(0, i).join(''))
  const lines: string[] = []
  let at = 0
  for (const line of Buffer.from(log).toString().split('\n')) {
    const i = deltas.findIndex(({ raw_ref }) => raw_ref && raw_ref.byte_from <= at && at < raw_ref.byte_to)
    lines.push(withTexts(line, (given) => (i >= 0 && given === told[i] ? words[i] : others.get(given))))
    at += Buffer.byteLength(line) + 1
  }
  return Buffer.from(lines.join('\n'))
}

/** Cut at that place, then every four characters; the last piece has the rest. */
function cutInto(text: string, first: number, count: number): string[] {
  const pieces = [text.slice(0, first)]
  let at = first
  while (pieces.length < count - 1) {
    pieces.push(text.slice(at, at + 4))
    at += 4
  }
  return [...pieces, text.slice(at)]
}

function withTexts(line: string, other: (text: string) => string | undefined): string {
  try {
    return JSON.stringify(JSON.parse(line), (_, value) =>
      typeof value === 'string' ? (other(value) ?? value) : value,
    )
  } catch {
    return line
  }
}

const claudeDelta = (delta: object) => ({
  ...{ type: 'stream_event', session_id: 's', uuid: 'u', parent_tool_use_id: null },
  event: { type: 'content_block_delta', index: 0, delta },
})
const acpUpdate = (update: object) => ({
  ...{ jsonrpc: '2.0', method: 'session/update' },
  params: { sessionId: 's', update },
})
const appServer = (method: string, more: object) => ({
  method: `item/${method}`,
  params: { threadId: 't', turnId: 'u', itemId: 'i', ...more },
})
const copilotEvent = (type: string, data: object) => ({ type, data, ephemeral: true, id: 'i' })

/** Records that have pieces of thoughts, of input and of output: no event tells them, or only as they are. */
export const quietPieces: Readonly<Record<string, (piece: string, soFar: string) => object>> = {
  'claude thinking': (thinking) => claudeDelta({ type: 'thinking_delta', thinking }),
  'claude input': (partial_json) => claudeDelta({ type: 'input_json_delta', partial_json }),
  'codex item': (_, aggregated_output) => ({
    type: 'item.updated',
    item: { id: 'i', type: 'command_execution', command: 'env', aggregated_output, status: 'in_progress' },
  }),
  'codex 0.42 output': (chunk) => ({
    id: '0',
    msg: { type: 'exec_command_output_delta', call_id: 'c', stream: 'stdout', chunk },
  }),
  'codex app-server output': (delta) => appServer('commandExecution/outputDelta', { delta }),
  'codex app-server thoughts': (delta) => appServer('reasoning/textDelta', { contentIndex: 0, delta }),
  'acp thoughts': (text) =>
    acpUpdate({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } }),
  'acp output': (data) =>
    acpUpdate({
      ...{ sessionUpdate: 'tool_call_update', toolCallId: 'c' },
      _meta: { terminal_output_delta: { data, terminal_id: 'c' } },
    }),
  'acp output so far': (_, text) =>
    acpUpdate({
      ...{ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'in_progress' },
      content: [{ type: 'content', content: { type: 'text', text } }],
    }),
  'copilot thoughts': (deltaContent) =>
    copilotEvent('assistant.reasoning_delta', { reasoningId: 'r', deltaContent }),
  'copilot output': (text) =>
    copilotEvent('tool.shell_output', { toolCallId: 'c', stream: 'stdout', text, sequence: 0 }),
  'copilot output so far': (_, partialOutput) =>
    copilotEvent('tool.execution_partial_result', { toolCallId: 'c', partialOutput }),
  'pi thoughts': (delta, thinking) => ({
    type: 'message_update',
    assistantMessageEvent: { type: 'thinking_delta', contentIndex: 0, delta },
    message: { role: 'assistant', content: [{ type: 'thinking', thinking }] },
  }),
  'pi output': (_, text) => ({
    ...{ type: 'tool_execution_update', toolCallId: 'c', toolName: 'bash', args: {} },
    partialResult: { content: [{ type: 'text', text }] },
  }),
  'cline output': (chunk) => ({
    ...{ ts: '2026-01-01T00:00:00.000Z', type: 'agent_event' },
    event: {
      ...{ type: 'content_update', contentType: 'tool', toolCallId: 'c' },
      update: { stream: 'stdout', chunk },
    },
  }),
  'cursor thoughts': (text) => ({
    ...{ type: 'thinking', subtype: 'delta', text, session_id: 's', timestamp_ms: 1 },
  }),
  'a chat completion': (content) => ({
    ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk' },
    choices: [{ index: 0, delta: { content } }],
  }),
}

const cacheUsage = { cache_creation: { ephemeral_5m_input_tokens: 6053, ephemeral_1h_input_tokens: 0 } }

/** Records that have a whole text, with words in them that others have in pieces. */
export const wholeRecords: Readonly<Record<string, object>> = {
  'the end of a tool call of ACP': acpUpdate({
    ...{ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'completed', title: 'env' },
  }),
  'the commands of an agent': acpUpdate({
    sessionUpdate: 'available_commands_update',
    availableCommands: [{ name: 'help', description: 'How to use it' }],
  }),
  'a message of Claude Code': {
    type: 'assistant',
    message: { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], usage: cacheUsage },
  },
  'the result of Claude Code': { type: 'result', subtype: 'success', result: 'Done.', usage: cacheUsage },
  'a file that Codex has changed': {
    type: 'item.completed',
    item: {
      ...{ id: 'i', type: 'file_change', status: 'completed' },
      changes: [{ path: '/srv/notes.md', kind: 'update' }],
    },
  },
  'a failure that Copilot does not keep': copilotEvent('model.call_failure', {
    errorMessage: 'No such model',
  }),
  'the list of records of Qwen Code': [
    { type: 'system', subtype: 'init', tools: ['update_goal', 'stream'] },
    { type: 'result', subtype: 'success', result: 'Done.' },
  ],
}
