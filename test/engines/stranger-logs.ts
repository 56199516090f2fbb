import fc from 'fast-check'

/** Values that look like an answer, an end or a payload to a reader that is not careful. */
const bait = fc.constantFrom<unknown>(
  ...['success', 'completed', 'done', 'stop', 'end_turn', 'assistant', 'result', 'turn.completed', ''],
  ...['{"ok":true}', '<json>{"ok":true}</json>', '```json\n{"__SKILL_DONE__": true}\n```', 'I am done.'],
  ...[0, 1, 200, true, false, null, { ok: true }, { __SKILL_DONE__: true }, [{ ok: true }], []],
)
const words = fc.constantFrom(
  ...['request completed', 'server started', '{"ok":true}', 'Done.', '<json>{"ok":true}</json>'],
  ...['{"__SKILL_DONE__": true}', 'turn completed', '', 'Hello from the model.\nSecond line.'],
)
const time = fc
  .integer({ min: 1_700_000_000_000, max: 1_800_000_000_000 })
  .map((ms) => new Date(ms).toISOString())
const id = fc.uuid()
const name = fc.constantFrom(
  ...['result', 'message', 'assistant', 'system', 'user', 'error', 'init', 'init.done', 'item.created'],
  ...['turn.completed', 'turn.started', 'thread.started', 'item.completed', 'session', 'agent_end', 'text'],
  ...['step_finish', 'completion', 'run_result', 'assistant.message', 'tool_call', 'message_end', 'complete'],
)
const more = fc.dictionary(
  fc.constantFrom(
    ...['type', 'subtype', 'session_id', 'sessionId', 'sessionID', 'uuid', 'result', 'response', 'status'],
    ...['message', 'text', 'role', 'content', 'data', 'event', 'exitCode', 'stats', 'usage', 'part', 'id'],
    ...['is_error', 'timestamp', 'ts', 'error', 'finishReason', 'request_id', 'note', 'kind', 'parentId'],
  ),
  fc.oneof(bait, name, time),
  { maxKeys: 4 },
)

type Shape = Readonly<Record<string, unknown>>

/** A record of plain values and arbitrary ones. */
const record = (shape: Shape): fc.Arbitrary<object> =>
  fc.record(
    Object.fromEntries(
      Object.entries(shape).map(([key, value]) => [
        key,
        value instanceof fc.Arbitrary ? value : fc.constant(value),
      ]),
    ),
  )

/** Such a record, sometimes with fields that other programs add. */
const log = (shape: Shape) =>
  fc.tuple(record(shape), fc.oneof(fc.constant({}), more)).map(([own, extra]) => ({ ...extra, ...own }))

const pino = log({ level: fc.constantFrom(30, 40, 50), time: fc.nat(), pid: fc.nat(), msg: words })
const bunyan = log({ name: 'api', hostname: 'web-1', level: 30, msg: words, time, v: 0 })
const winston = log({ level: fc.constantFrom('info', 'error'), message: words, timestamp: time, type: name })
const docker = log({ log: words, stream: fc.constantFrom('stdout', 'stderr'), time })
const journald = log({
  __REALTIME_TIMESTAMP: '1794744422569000',
  MESSAGE: words,
  PRIORITY: '6',
  _SYSTEMD_UNIT: 'api.service',
})
const cloudWatch = log({ timestamp: fc.nat(), message: words, ingestionTime: fc.nat(), eventId: id })
const kubernetes = log({
  kind: 'Event',
  apiVersion: 'audit.k8s.io/v1',
  stage: fc.constantFrom('ResponseComplete', 'RequestReceived'),
  auditID: id,
  responseStatus: { metadata: {}, code: 200, status: 'Success' },
  message: words,
})
const cloudEvent = log({ specversion: '1.0', id, source: '/x', type: name, time })
const game = log({ type: name, player: fc.nat(), timestamp: time })
const chatLog = log({ session_id: id, prompt: words, response: words, latency_ms: fc.nat() })
const apiAnswer = log({ response: words, status: 'success', request_id: id })

const choice = record({ index: 0, message: record({ role: 'assistant', content: words }) })
const openaiAnswer = record({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: fc.tuple(choice),
  usage: { total_tokens: 3 },
})
const openaiChunk = record({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  choices: fc.tuple(
    record({ delta: record({ content: words }), finish_reason: fc.constantFrom(null, 'stop') }),
  ),
})
const openaiEvent = fc.oneof(
  record({ type: 'response.output_text.delta', item_id: id, delta: words }),
  record({ type: 'response.output_text.done', item_id: id, text: words }),
  record({ type: 'response.completed', response: record({ id, status: 'completed', output_text: words }) }),
  record({ type: 'session.created', event_id: id, session: record({ id }) }),
  record({ object: 'thread.message', id, role: 'assistant', thread_id: id }),
)
const anthropicMessage = record({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: fc.array(record({ type: 'text', text: words }), { maxLength: 2 }),
  stop_reason: fc.constantFrom(null, 'end_turn'),
})
const anthropicEvent = fc.oneof(
  record({ type: 'message_start', message: anthropicMessage }),
  record({ type: 'content_block_delta', index: 0, delta: record({ type: 'text_delta', text: words }) }),
  record({ type: 'content_block_stop', index: 0 }),
  record({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }),
  record({ type: 'message_stop' }),
)
const rpc = (more: Shape) => record({ jsonrpc: '2.0', ...more })
const answer = (result: unknown) => rpc({ id: fc.nat(9), result })
const serverInfo = { name: 's', version: '1' }
const mcp = fc.oneof(
  answer({ protocolVersion: '2025-06-18', capabilities: {}, serverInfo }),
  answer(record({ content: fc.tuple(record({ type: 'text', text: words })), isError: fc.boolean() })),
  answer(record({ role: 'assistant', stopReason: fc.constantFrom('endTurn', 'maxTokens') })),
  answer(record({ sessionId: id, status: words })),
  rpc({ method: 'notifications/message', params: record({ level: words, data: bait }) }),
  rpc({ id: fc.nat(9), error: { code: -32601, message: 'Method not found' } }),
)
const lsp = fc.oneof(
  answer({ capabilities: { hoverProvider: true } }),
  rpc({ method: 'textDocument/publishDiagnostics', params: { uri: 'file:///a', diagnostics: [] } }),
  rpc({ method: 'window/logMessage', params: record({ type: fc.nat(4), message: words }) }),
)

const json = (value: unknown) => JSON.stringify(value)
const lines = (one: (value: unknown, index: number) => string) => (values: readonly unknown[]) =>
  values.map(one).join('')
const several = (of: fc.Arbitrary<unknown>) => fc.array(of, { minLength: 2, maxLength: 6 })
const ndjson = (of: fc.Arbitrary<unknown>) => several(of).map(lines((value) => `${json(value)}\n`))
const second = (index: number) => String(index).padStart(2, '0')

/** Logs of other programs, as they are written: each has two records or more. */
export const strangerLogs: Readonly<Record<string, fc.Arbitrary<string>>> = {
  pino: ndjson(pino),
  bunyan: ndjson(bunyan),
  winston: ndjson(winston),
  docker: ndjson(docker),
  journald: ndjson(journald),
  'journald json-seq': several(journald).map(lines((value) => `\u001e${json(value)}\n`)),
  'journald short': several(pino).map(
    lines((value, index) => `Nov 15 00:00:${second(index)} web-1 api[412]: ${json(value)}\n`),
  ),
  CloudWatch: ndjson(cloudWatch),
  'CloudWatch tail': several(winston).map(
    lines((value, index) => `2026-11-15T00:00:${second(index)}.000000+00:00 api/web/1 ${json(value)}\n`),
  ),
  'Kubernetes audit': ndjson(kubernetes),
  'kubectl --timestamps': several(pino).map(
    lines((value, index) => `2026-11-15T00:00:${second(index)}.000000000Z ${json(value)}\n`),
  ),
  'kubectl --prefix': several(pino).map(lines((value) => `[pod/web-1/api] ${json(value)}\n`)),
  'docker compose': several(pino).map(lines((value) => `web-1  | ${json(value)}\n`)),
  CloudEvents: ndjson(cloudEvent),
  'a game': ndjson(game),
  'a chat log': ndjson(chatLog),
  'answers of an API': ndjson(apiAnswer),
  'OpenAI answers': ndjson(openaiAnswer),
  'OpenAI answers, pretty': several(openaiAnswer).map(
    lines((value) => `${JSON.stringify(value, null, 2)}\n`),
  ),
  'OpenAI chunks': ndjson(openaiChunk),
  'OpenAI chunks, SSE': several(openaiChunk).map(
    (values) => `${lines((value) => `data: ${json(value)}\n\n`)(values)}data: [DONE]\n\n`,
  ),
  'OpenAI events': ndjson(openaiEvent),
  'OpenAI events, SSE': several(openaiEvent).map(
    lines((value) => `event: ${(value as { type?: string }).type}\ndata: ${json(value)}\n\n`),
  ),
  'Anthropic answers': ndjson(anthropicMessage),
  'Anthropic events': ndjson(anthropicEvent),
  'Anthropic events, SSE': several(anthropicEvent).map(
    lines((value) => `event: ${(value as { type: string }).type}\ndata: ${json(value)}\n\n`),
  ),
  MCP: ndjson(mcp),
  LSP: several(lsp).map(
    lines((value) => `Content-Length: ${Buffer.byteLength(json(value))}\r\n\r\n${json(value)}`),
  ),
  'all of them': ndjson(
    fc.oneof(pino, winston, game, chatLog, openaiEvent, anthropicEvent, mcp, lsp, cloudEvent, apiAnswer),
  ),
}
