import { Calls, endOf, type Json, type Reading, type Written } from './plain-records.ts'

const settings = /"sessionUpdate":"(available_commands|current_mode|config_option|session_info)_update"/

/**
 * A run of the Agent Client Protocol, read without the engine: neighbours of one kind and one id are one
 * text.
 */
export function readAcp({ stdout, exit }: Written): Reading & { readonly asked: number } {
  const records: Json[] = stdout
    .split('\n')
    .filter((line) => line.startsWith('{') && !settings.test(line.slice(0, 400)))
    .map((line) => JSON.parse(line))
  const updates = records.map(({ params }) => params?.update ?? {})
  const groups: { kind: string; text: string; stop?: string }[] = []
  let last = ''
  for (const [index, { sessionUpdate, messageId, content }] of updates.entries()) {
    const { method, result, error } = records[index]
    const kind = `${sessionUpdate ?? method ?? 'response'}`
    if (kind.startsWith('_') || kind.startsWith('qwen/')) continue
    const key = `${kind} ${messageId}`
    const stop = error ? 'error' : result?.stopReason
    if (kind.endsWith('_chunk') && key === last) groups.at(-1)!.text += content.text
    else if (content?.text !== '') groups.push({ kind, text: content?.text ?? '', stop })
    if (content?.text !== '') last = key
  }
  const calls = new Calls()
  const begun = new Set<string>()
  for (const [index, update] of updates.entries()) {
    const call = update.toolCallId ? update : (records[index].params?.toolCall ?? {})
    const id = call.toolCallId
    if (!id) continue
    if (!begun.has(id)) calls.begin(id, nameOf(call))
    begun.add(id)
    const end = endOfCall(call)
    if (end !== undefined) calls.end(id, end)
  }
  // What comes right before a bad end was broken off.
  const isBroken = (index: number) => !['end_turn', undefined].includes(groups[index + 1]?.stop)
  const said = groups.flatMap(({ kind, text }, index) =>
    kind === 'agent_message_chunk' ? [{ text, index }] : [],
  )
  const textsOf = (broken: boolean) =>
    said.filter(({ index }) => isBroken(index) === broken).map(({ text }) => text)
  return {
    session: records.map(({ result }) => result?.sessionId).find(Boolean) ?? null,
    messages: textsOf(false),
    broken: textsOf(true),
    reasoning: groups.filter(({ kind }) => kind === 'agent_thought_chunk').map(({ text }) => text),
    tools: calls.told(),
    asked: records.filter(({ method }) => method === 'session/request_permission').length,
    end: endOf(textsOf(false), stateOf(records, textsOf(false)), exit),
  }
}

function nameOf({ name, _meta, kind, title }: Json): string {
  return name ?? _meta?.toolName ?? (kind === 'other' ? undefined : kind) ?? title ?? 'tool'
}

function endOfCall({ status, rawOutput, _meta }: Json): boolean | undefined {
  const exit = [
    rawOutput?.exitCode,
    rawOutput?.metadata?.exit,
    _meta?.terminal_exit?.exit_code,
    written(rawOutput),
  ]
  if (status === 'failed') return false
  return status === 'completed' ? !exit.some((code) => code > 0) : undefined
}

function written(output: unknown): number | undefined {
  return typeof output === 'string' ? Number(/^EXIT_CODE: (\d+)\n/.exec(output)?.[1] ?? 0) : undefined
}

function stateOf(records: Json[], messages: readonly string[]): boolean | undefined {
  const last = records.findLast(
    (one) => one.error || one.result?.stopReason || one.method === 'session/request_permission',
  )
  if (last === undefined) return undefined
  if (last.method) return true
  if (last.error || last.result.stopReason !== 'end_turn') return false
  return !(/^Error: /.test(messages.at(-1) ?? '') && !last.result.usage)
}
