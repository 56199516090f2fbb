import { Calls, endOf, type Json, type Reading, recordsOf, type Written } from './plain-records.ts'

/**
 * Codex: `exec --json`, its two older dialects, and the app-server, told apart by the keys of their records.
 */
export function codex({ stdout, exit }: Written): Reading {
  const records = recordsOf(stdout)
  if (records.some(({ msg }) => msg)) return old(records, exit)
  return records.some(({ method }) => method) ? server(records, exit) : exec(records, exit)
}

function exec(records: Json[], exit: number | null): Reading {
  const calls = new Calls()
  const done = records.filter(({ type }) => type === 'item.completed').map(({ item }) => item)
  const kind = (item: Json) => item.type ?? item.item_type
  const texts = (...kinds: string[]) =>
    done.filter((item) => kinds.includes(kind(item))).map(({ text }) => text)
  for (const { type, item } of records) {
    if (!item || ['agent_message', 'assistant_message', 'reasoning', 'error'].includes(kind(item))) continue
    const name = kind(item) === 'mcp_tool_call' ? `${item.server}.${item.tool}` : kind(item)
    if (type === 'item.started') calls.begin(item.id, name)
    const good = item.status !== 'failed' && item.status !== 'declined' && !item.exit_code && !item.error
    if (type === 'item.completed') calls.end(item.id, good, name)
  }
  const messages = texts('agent_message', 'assistant_message')
  const last = records.findLast(({ type }) => type?.startsWith('turn.'))?.type
  const told = last === 'turn.completed' ? true : last === 'turn.failed' ? false : undefined
  return {
    messages,
    broken: [],
    reasoning: texts('reasoning'),
    tools: calls.told(),
    session: records.map((one) => one.thread_id ?? one.session_id).find(Boolean) ?? null,
    end: endOf(messages, told, exit),
  }
}

function old(records: Json[], exit: number | null): Reading {
  const events = records.flatMap(({ msg }) => msg ?? [])
  const of = (type: string) => events.filter((event) => event.type === type)
  const messages = of('agent_message').map(({ message }) => message)
  const calls = new Calls()
  for (const event of events) {
    if (event.type === 'exec_command_begin') calls.begin(event.call_id, 'command_execution')
    if (event.type === 'patch_apply_begin') calls.begin(event.call_id, 'file_change')
    if (event.type === 'exec_command_end') calls.end(event.call_id, event.exit_code === 0)
    if (event.type === 'patch_apply_end') calls.end(event.call_id, event.success)
  }
  const last = events.findLast(({ type }) => type === 'task_complete' || type === 'error')?.type
  return {
    messages,
    broken: [],
    reasoning: of('agent_reasoning').map(({ text }) => text),
    tools: calls.told(),
    session: of('session_configured')[0]?.session_id ?? null,
    end: endOf(messages, last && last === 'task_complete', exit),
  }
}

const names: Record<string, string> = { commandExecution: 'command_execution', fileChange: 'file_change' }

function server(records: Json[], exit: number | null): Reading {
  const calls = new Calls()
  const messages: string[] = []
  const reasoning: string[] = []
  const pieces = new Map<string, string>()
  let told: boolean | undefined
  for (const { method, params } of records) {
    const item = params?.item
    if (method === 'turn/started') told = undefined
    if (method === 'turn/completed') told = params.turn.status === 'completed'
    if (method === 'item/agentMessage/delta')
      pieces.set(params.itemId, (pieces.get(params.itemId) ?? '') + params.delta)
    const name = names[item?.type]
    if (name && method === 'item/started') calls.begin(item.id, name)
    if (method !== 'item/completed') continue
    if (name) calls.end(item.id, item.status === 'completed' && !item.exitCode)
    if (item.type === 'agentMessage') messages.push(item.text)
    if (item.type === 'agentMessage') pieces.delete(item.id)
    if (item.type === 'reasoning' && item.summary.length > 0) reasoning.push(item.summary.join('\n\n'))
  }
  const broken = [...pieces.values()]
  const session = records.map(({ result }) => result?.thread?.id).find(Boolean) ?? null
  return { messages, broken, reasoning, tools: calls.told(), session, end: endOf(messages, told, exit) }
}
