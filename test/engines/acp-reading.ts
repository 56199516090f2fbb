/** A run of the Agent Client Protocol, read without the engine. */
export interface Reading {
  readonly session: string | undefined
  readonly messages: readonly string[]
  readonly thoughts: number
  /** Each call with how it ended. */
  readonly calls: Readonly<Record<string, string>>
  readonly asked: number
  readonly end: string
}

const settings = /"sessionUpdate":"(available_commands|current_mode|config_option|session_info)_update"/

/** Groups what a log says: neighbours of one kind and one id are one text. */
export function readAcp(log: string): Reading {
  // biome-ignore lint/suspicious/noExplicitAny: a second reading, which takes the records as they are
  const records: any[] = log
    .split('\n')
    .filter((line) => line.startsWith('{') && !settings.test(line.slice(0, 400)))
    .map((line) => JSON.parse(line))
  const updates = records.map(({ params }) => params?.update ?? {})
  const groups: { kind: string; text: string }[] = []
  let last = ''
  for (const [index, { sessionUpdate, messageId, content }] of updates.entries()) {
    const kind = `${sessionUpdate ?? records[index].method ?? 'response'}`
    if (kind.startsWith('_') || kind.startsWith('qwen/')) continue
    const key = `${kind} ${messageId}`
    if (kind.endsWith('_chunk') && key === last) groups.at(-1)!.text += content.text
    else if (content?.text !== '') groups.push({ kind, text: content?.text ?? '' })
    if (content?.text !== '') last = key
  }
  const textsOf = (kind: string) => groups.filter((one) => one.kind === kind).map(({ text }) => text)
  const messages = textsOf('agent_message_chunk')
  return {
    session: records.map(({ result }) => result?.sessionId).find(Boolean),
    messages,
    thoughts: textsOf('agent_thought_chunk').length,
    calls: Object.fromEntries(
      updates.filter((one) => one.toolCallId).map((one) => [one.toolCallId, endOf(one)]),
    ),
    asked: records.filter(({ method }) => method === 'session/request_permission').length,
    end: stateOf(records, messages),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function endOf({ status, rawOutput, _meta }: any): string {
  const exit = [
    rawOutput?.exitCode,
    rawOutput?.metadata?.exit,
    _meta?.terminal_exit?.exit_code,
    written(rawOutput),
  ]
  if (status === 'failed' || exit.some((code) => code > 0)) return 'failed'
  return status === 'completed' ? status : 'started'
}

function written(output: unknown): number | undefined {
  return typeof output === 'string' ? Number(/^EXIT_CODE: (\d+)\n/.exec(output)?.[1] ?? 0) : undefined
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function stateOf(records: any[], messages: readonly string[]): string {
  if (messages.some((text) => text.includes('"__SKILL_DONE__": true'))) return 'completed'
  const last = records.findLast(
    (one) => one.error || one.result?.stopReason || one.method === 'session/request_permission',
  )
  if (last?.method) return 'awaiting_user_input'
  if (last?.error || last?.result.stopReason !== 'end_turn') return 'interrupted'
  return /^Error: /.test(messages.at(-1) ?? '') && !last.result.usage ? 'interrupted' : 'awaiting_user_input'
}
