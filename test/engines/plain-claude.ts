import { Calls, endOf, type Json, type Reading, recordsOf, type Written } from './plain-records.ts'
import { text } from './plain-text.ts'

/**
 * Claude Code, Qwen Code and Amp: a record per line, one array (json mode, which may be cut), or plain text.
 */
export function claude(written: Written): Reading {
  const { stdout, exit } = written
  const array = stdout.split('\n').find((line) => line.startsWith('[{"type"'))
  const [records, cut] = array ? elements(array) : [recordsOf(stdout).filter(isOwn), isCut(stdout)]
  if (records.length === 0) return text(written)
  const calls = new Calls()
  const messages: string[] = []
  const reasoning: string[] = []
  const whole = new Set<string>()
  const streams = pieces(records)
  let answered = false
  let excuse: string | undefined
  let told: boolean | undefined
  for (const line of records) {
    const { type, subtype, message } = line
    const content = Array.isArray(message?.content) ? message.content : []
    if (type === 'system' && subtype === 'init') told = undefined
    if (type === 'control_request' && line.request.subtype === 'can_use_tool') told = true
    else if (!type.startsWith('control_') && told === true) told = undefined
    if (type === 'assistant' && message.model === '<synthetic>') excuse = content[0]?.text
    else if (type === 'assistant') {
      for (const block of content) {
        if (block.type === 'text') {
          messages.push(block.text)
          answered = true
          whole.add(message.id)
        }
        if (block.type === 'thinking') reasoning.push(block.thinking)
        if (block.type === 'tool_use') calls.begin(block.id, block.name)
      }
    }
    for (const block of type === 'user' ? content : [])
      if (block.type === 'tool_result')
        calls.end(block.tool_use_id, !block.is_error && !exitOf(block.content))
    if (type !== 'result') continue
    told = subtype === 'success' && !line.is_error && (excuse === undefined || line.result !== excuse)
    if (told && !answered && line.result && streams.size === 0) messages.push(line.result)
    answered = false
    excuse = undefined
  }
  const streamed = [...streams].filter(([id, { said }]) => said !== '' && !whole.has(id))
  const said = (end: boolean) => streamed.filter(([, one]) => one.stopped === end).map(([, one]) => one.said)
  return {
    messages: [...messages, ...said(true)],
    broken: said(false),
    reasoning,
    tools: calls.told(),
    session: records.map(({ session_id }) => session_id).findLast(Boolean) ?? null,
    end: endOf(messages, told ?? (cut ? 'cut' : undefined), exit),
  }
}

function isOwn({ type, session_id }: Json): boolean {
  return typeof type === 'string' && (type.startsWith('control_') || typeof session_id === 'string')
}

/** Amp's Bash tells the exit code in its output. */
function exitOf(output: unknown): number {
  const told = typeof output === 'string' ? /^\{.*"exitCode":(\d+)\}$/.exec(output) : null
  return Number(told?.[1] ?? 0)
}

/** What came in pieces, by message. */
function pieces(records: Json[]): Map<string, { said: string; stopped: boolean }> {
  const open = new Map<string, { said: string; stopped: boolean }>()
  let id = ''
  for (const { event } of records) {
    if (!event) continue
    if (event.type === 'message_start') id = event.message.id
    const one = open.get(id) ?? { said: '', stopped: false }
    if (event.delta?.type === 'text_delta') one.said += event.delta.text
    if (event.type === 'message_stop') one.stopped = true
    open.set(id, one)
  }
  return open
}

function isCut(stdout: string): boolean {
  return stdout.split('\n').at(-1)!.startsWith('{')
}

/**
 * The elements of the array, as many as are whole: each is `{"type":…`, and none holds that on its top level
 * twice.
 */
function elements(array: string): [Json[], boolean] {
  try {
    return [JSON.parse(array), false]
  } catch {
    const parts = array.slice(1).split(/,(?=\{"type":"(?:system|assistant|user|result)")/)
    return [recordsOf(parts.join('\n')), true]
  }
}
