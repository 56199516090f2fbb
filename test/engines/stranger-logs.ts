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

/** A record of `shape`, sometimes with fields that other programs add. */
const record = (shape: Record<string, fc.Arbitrary<unknown>>) =>
  fc.tuple(fc.record(shape), fc.oneof(fc.constant({}), more)).map(([own, extra]) => ({ ...extra, ...own }))

const pino = record({ level: fc.constantFrom(30, 40, 50), time: fc.nat(), pid: fc.nat(), msg: words })
const bunyan = record({
  name: fc.constant('api'),
  hostname: fc.constant('web-1'),
  level: fc.constant(30),
  msg: words,
  time,
  v: fc.constant(0),
})
const winston = record({
  level: fc.constantFrom('info', 'error'),
  message: words,
  timestamp: time,
  type: name,
})
const docker = record({ log: words, stream: fc.constantFrom('stdout', 'stderr'), time })
const journald = record({
  __REALTIME_TIMESTAMP: fc.constant('1794744422569000'),
  MESSAGE: words,
  PRIORITY: fc.constant('6'),
  _SYSTEMD_UNIT: fc.constant('api.service'),
})
const cloudWatch = record({ timestamp: fc.nat(), message: words, ingestionTime: fc.nat(), eventId: id })
const kubernetes = record({
  kind: fc.constant('Event'),
  apiVersion: fc.constant('audit.k8s.io/v1'),
  stage: fc.constantFrom('ResponseComplete', 'RequestReceived'),
  auditID: id,
  responseStatus: fc.constant({ metadata: {}, code: 200, status: 'Success' }),
  message: words,
})
const cloudEvent = record({
  specversion: fc.constant('1.0'),
  id,
  source: fc.constant('/x'),
  type: name,
  time,
})
const game = record({ type: name, player: fc.nat(), timestamp: time })
const chatLog = record({ session_id: id, prompt: words, response: words, latency_ms: fc.nat() })
const apiAnswer = record({ response: words, status: fc.constant('success'), request_id: id })

const choice = (content: fc.Arbitrary<unknown>) =>
  fc.record({ index: fc.constant(0), message: fc.record({ role: fc.constant('assistant'), content }) })
const openaiAnswer = fc.record({
  id: fc.constant('chatcmpl-1'),
  object: fc.constant('chat.completion'),
  choices: fc.array(choice(words), { minLength: 1, maxLength: 1 }),
  usage: fc.constant({ total_tokens: 3 }),
})
const openaiChunk = fc.record({
  id: fc.constant('chatcmpl-1'),
  object: fc.constant('chat.completion.chunk'),
  choices: fc.tuple(
    fc.record({ delta: fc.record({ content: words }), finish_reason: fc.constantFrom(null, 'stop') }),
  ),
})
const openaiEvent = fc.oneof(
  fc.record({ type: fc.constant('response.output_text.delta'), item_id: id, delta: words }),
  fc.record({ type: fc.constant('response.output_text.done'), item_id: id, text: words }),
  fc.record({
    type: fc.constant('response.completed'),
    response: fc.record({ id, status: fc.constant('completed'), output_text: words }),
  }),
  fc.record({ type: fc.constant('session.created'), event_id: id, session: fc.record({ id }) }),
  fc.record({ object: fc.constant('thread.message'), id, role: fc.constant('assistant'), thread_id: id }),
)
const anthropicMessage = fc.record({
  id: fc.constant('msg_1'),
  type: fc.constant('message'),
  role: fc.constant('assistant'),
  model: fc.constant('m'),
  content: fc.array(fc.record({ type: fc.constant('text'), text: words }), { maxLength: 2 }),
  stop_reason: fc.constantFrom(null, 'end_turn'),
})
const anthropicEvent = fc.oneof(
  fc.record({ type: fc.constant('message_start'), message: anthropicMessage }),
  fc.record({
    type: fc.constant('content_block_delta'),
    index: fc.constant(0),
    delta: fc.record({ type: fc.constant('text_delta'), text: words }),
  }),
  fc.record({ type: fc.constant('content_block_stop'), index: fc.constant(0) }),
  fc.record({ type: fc.constant('message_delta'), delta: fc.constant({ stop_reason: 'end_turn' }) }),
  fc.record({ type: fc.constant('message_stop') }),
)
const jsonrpc = fc.constant('2.0')
const mcp = fc.oneof(
  fc.record({
    jsonrpc,
    id: fc.nat(9),
    result: fc.constant({
      protocolVersion: '2025-06-18',
      capabilities: {},
      serverInfo: { name: 's', version: '1' },
    }),
  }),
  fc.record({
    jsonrpc,
    id: fc.nat(9),
    result: fc.record({
      content: fc.tuple(fc.record({ type: fc.constant('text'), text: words })),
      isError: fc.boolean(),
    }),
  }),
  fc.record({
    jsonrpc,
    id: fc.nat(9),
    result: fc.record({
      role: fc.constant('assistant'),
      stopReason: fc.constantFrom('endTurn', 'maxTokens'),
    }),
  }),
  fc.record({ jsonrpc, id: fc.nat(9), result: fc.record({ sessionId: id, status: words }) }),
  fc.record({
    jsonrpc,
    method: fc.constant('notifications/message'),
    params: fc.record({ level: words, data: bait }),
  }),
  fc.record({ jsonrpc, id: fc.nat(9), error: fc.constant({ code: -32601, message: 'Method not found' }) }),
)
const lsp = fc.oneof(
  fc.record({ jsonrpc, id: fc.nat(9), result: fc.constant({ capabilities: { hoverProvider: true } }) }),
  fc.record({
    jsonrpc,
    method: fc.constant('textDocument/publishDiagnostics'),
    params: fc.record({ uri: fc.constant('file:///a'), diagnostics: fc.constant([]) }),
  }),
  fc.record({
    jsonrpc,
    method: fc.constant('window/logMessage'),
    params: fc.record({ type: fc.nat(4), message: words }),
  }),
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
