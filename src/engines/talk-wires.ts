import { clip } from '../base/fault.ts'
import { type Engine, isRecord, type Picker } from '../events/engine.ts'
import { Rec } from '../events/record.ts'
import type { Wire, WireChoice, WireRecord, WireResult } from '../events/talk-wire.ts'
import { ruleOf } from './claude/asked.ts'
import { decisionOf } from './codex/asked.ts'
import { errorText } from './error-words.ts'

/** The wire of an engine, its own or ours. */
export function wireOf(engine: Engine | Picker): Wire | undefined {
  if ('wire' in engine) return engine.wire
  return Object.hasOwn(wires, engine.name) ? wires[engine.name] : undefined
}

/**
 * The client's half of the Agent Client Protocol. It announces neither files nor terminals: an agent that may
 * use those of its client would wait for them.
 */
const acpWire: Wire = {
  speaks: () => true,
  loads: true,
  waits: true,
  open({ cwd, session }, [hello, opened], id) {
    if (!hello) {
      const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false }
      return {
        send: [request(id, 'initialize', { protocolVersion: 1, clientCapabilities, clientInfo: CLIENT })],
      }
    }
    const place = { cwd, mcpServers: [] }
    if (session === undefined) {
      if (!opened) return { send: [request(id, 'session/new', place)] }
      const { sessionId: made } = opened
      return typeof made === 'string' ? { session: made } : { failed: 'the agent named no session' }
    }
    // Without the history, which `session/load` sends again, and Gemini CLI partly after its answer.
    const can = new Rec(hello)
    const resumes = can.record('agentCapabilities.sessionCapabilities.resume') !== undefined
    if (opened) return { session, quiet: true }
    const loads = can.flag('agentCapabilities.loadSession') === true
    if (!resumes && !loads) return { failed: 'the agent cannot load a session' }
    const of = { sessionId: session, ...place }
    if (!resumes) return { send: [request(id, 'session/load', of)] }
    // Qwen Code 0.15 announces `session/resume`, and does not know it.
    const instead = loads && { instead: [request(id + 1, 'session/load', of)] }
    return { send: [request(id, 'session/resume', of)], ...instead }
  },
  say: (prompt, { session, id }) =>
    request(id, 'session/prompt', { sessionId: session, prompt: [{ type: 'text', text: prompt }] }),
  interrupt: ({ session }) => ({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: session } }),
  result: resultIn,
  answer(record, { option }) {
    const outcome =
      option === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option }
    return { jsonrpc: '2.0', id: record['id'], result: { outcome } }
  },
  refuse: (record) => {
    const refusal = refusalOf(record)
    return refusal && { jsonrpc: '2.0', ...refusal }
  },
}

function request(id: number, method: string, params: object): object {
  return { jsonrpc: '2.0', id, method, params }
}

/**
 * The client's half of `codex app-server`. Without `approval_policy` in its command line it asks before every
 * command that is not known to change nothing: that policy cannot be configured elsewhere.
 */
const codexWire: Wire = {
  speaks: (argv) => argv.includes('app-server'),
  loads: true,
  questions: true,
  open({ cwd, argv, session }, [hello, opened], id) {
    if (!hello) {
      const params = { clientInfo: CLIENT, capabilities: { experimentalApi: true } }
      return { send: [{ id, method: 'initialize', params }] }
    }
    if (!opened) {
      const isChosen = argv.some((word) => word.includes('approval_policy'))
      const how = { cwd, ...(isChosen ? {} : { approvalPolicy: 'untrusted' }) }
      const thread =
        session === undefined
          ? { id, method: 'thread/start', params: how }
          : { id, method: 'thread/resume', params: { threadId: session, ...how } }
      return { send: [{ method: 'initialized' }, thread] }
    }
    const made = new Rec(opened).text('thread.id')
    return made ? { session: made } : { failed: 'the server named no thread' }
  },
  say: (prompt, { session, id }) => ({
    id,
    method: 'turn/start',
    params: { threadId: session, input: [{ type: 'text', text: prompt }] },
  }),
  interrupt: ({ session, turn, id }) =>
    turn === undefined
      ? undefined
      : { id, method: 'turn/interrupt', params: { threadId: session, turnId: turn } },
  turn: (record) => new Rec(record).text('result.turn.id'),
  result: resultIn,
  answer(record, choice) {
    const result = serverResult(record, choice)
    return result ? { id: record['id'], result } : refusalOf(record)!
  },
  refuse: refusalOf,
}

function serverResult(record: WireRecord, { option, answers }: WireChoice): object | undefined {
  if (answers)
    return {
      answers: Object.fromEntries(answers.map(({ question, words }) => [question.id, { answers: words }])),
    }
  if (option === undefined) return undefined
  if (record['method'] === 'mcpServer/elicitation/request')
    return { action: option, content: null, _meta: null }
  // A decision with a rule is sent as it was offered.
  const offered = new Rec(record)
    .list('params.availableDecisions')
    .find((one) => decisionOf(one)?.id === option)
  return { decision: offered ?? option }
}

/** Who speaks to the agent. The version is that of what is said, so that every release says the same. */
const CLIENT = { name: 'agent-sluice', title: 'agent-sluice', version: '1' }

const METHOD_NOT_FOUND = -32601

/** Refuses a request of the agent that nobody here serves; undefined if the record is no request. */
function refusalOf(record: WireRecord): object | undefined {
  const { id, method } = record
  if (id === undefined || typeof method !== 'string') return undefined
  return { id, error: { code: METHOD_NOT_FOUND, message: 'agent-sluice does not serve this request' } }
}

/** The result of a request of ours, or why it failed. */
function resultIn(record: WireRecord): WireResult | undefined {
  const { id, method, result } = record
  if (typeof id !== 'number' || method !== undefined) return undefined
  const error = Rec.of(record['error'])
  if (!error) return { id, result: isRecord(result) ? result : {} }
  const message = errorText(error.values)
  const details = error.text('data data.details data.message')
  const unknown = error.at('code') === METHOD_NOT_FOUND
  return {
    id,
    ...(unknown && { unknown }),
    error: clip(details === undefined ? message : `${message}: ${details}`, 300),
  }
}

/**
 * The client's half of Claude Code's control protocol (`--input-format stream-json`), which Qwen Code speaks,
 * too. Claude Code finds an answer by the text of its question, Qwen Code by its position.
 */
function controlWire(byPosition: boolean): Wire {
  return {
    speaks: (argv) => /(?:^| )--input-format[ =]stream-json(?: |$)/.test(argv.join(' ')),
    waits: true,
    questions: true,
    open: (_, [hello], id) =>
      hello ? { session: '' } : { send: [control(id, { subtype: 'initialize', hooks: null })] },
    say: (prompt) => ({
      type: 'user',
      session_id: '',
      parent_tool_use_id: null,
      message: { role: 'user', content: prompt },
    }),
    interrupt: ({ id }) => control(id, { subtype: 'interrupt' }),
    result(given) {
      const record = new Rec(given)
      const id = record.at('type') === 'control_response' ? record.text('response.request_id') : undefined
      if (!id?.startsWith(OURS)) return undefined
      const error = record.text('response.error')
      const failed = record.at('response.subtype') === 'error'
      return {
        id: Number(id.slice(OURS.length)),
        ...(failed
          ? { error: error ?? errorText(record.at('response.error')) }
          : { result: record.record('response.response')?.values ?? {} }),
      }
    },
    answer: (record, choice) =>
      response(record, {
        subtype: 'success',
        response: controlDecision(new Rec(record), choice, byPosition),
      }),
    refuse: (record) =>
      record['type'] === 'control_request'
        ? response(record, { subtype: 'error', error: 'agent-sluice does not serve this request' })
        : undefined,
  }
}

const OURS = 'sluice-'

function control(id: number, request: object): object {
  return { type: 'control_request', request_id: `${OURS}${id}`, request }
}

function response(record: WireRecord, { subtype, ...more }: WireRecord): object {
  return { type: 'control_response', response: { subtype, request_id: record['request_id'], ...more } }
}

/** The input is sent as it was asked: it decides what runs. */
function controlDecision(record: Rec, { option, answers }: WireChoice, byPosition: boolean): object {
  const input = record.at('request.input')
  if (answers) {
    const given = answers.flatMap(({ index, question, words }) => {
      const all = words.join(', ')
      return [...(byPosition ? [[String(index), all]] : []), [question.question, all]]
    })
    return {
      behavior: 'allow',
      updatedInput: { ...Rec.of(input)?.values, answers: Object.fromEntries(given) },
    }
  }
  if (option === 'allow') return { behavior: 'allow', updatedInput: input }
  const rule = record.records('request.permission_suggestions').find((one) => ruleOf(one)?.id === option)
  if (rule && ruleOf(rule)?.kind === 'allow_always')
    return { behavior: 'allow', updatedInput: input, updatedPermissions: [rule.values] }
  return { behavior: 'deny', message: 'The user did not allow this.' }
}

/** The wires of our engines, apart from them: who only reads what agents print has no use for these. */
const wires: Readonly<Record<string, Wire>> = {
  acp: acpWire,
  codex: codexWire,
  claude: /* @__PURE__ */ controlWire(false),
  qwen: /* @__PURE__ */ controlWire(true),
}
