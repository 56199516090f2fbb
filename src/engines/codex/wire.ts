import { deedOf } from '../../events/call-words.ts'
import type { RequestFacts } from '../../events/engine.ts'
import type { RequestOption } from '../../events/event.ts'
import { Rec } from '../../events/record.ts'
import type { Wire, WireChoice, WireRecord } from '../../events/talk-wire.ts'
import { questionsIn } from '../calls.ts'
import { CLIENT, refusalOf, resultIn } from '../json-rpc.ts'
import { changesByPath } from './shared.ts'

/** What a request does not repeat of its call. */
export interface BegunCall {
  readonly changes: readonly unknown[]
}

/** Requests of the server that the user must answer, and the tools that they are about. */
const tools: Readonly<Record<string, string>> = {
  'item/commandExecution/requestApproval': 'command_execution',
  'item/fileChange/requestApproval': 'file_change',
  'item/permissions/requestApproval': 'permissions',
  'item/tool/requestUserInput': 'request_user_input',
  'mcpServer/elicitation/request': 'elicitation',
  execCommandApproval: 'command_execution',
  applyPatchApproval: 'file_change',
}

/** What a record asks; undefined if it is no request for the user. */
export function askedIn(
  method: string,
  params: Rec = new Rec({}),
  calls: { get(id: string): BegunCall | undefined },
): Omit<RequestFacts, 'id' | 'signal'> | undefined {
  const tool = Object.hasOwn(tools, method) ? tools[method] : undefined
  if (tool === undefined) return undefined
  const call_id = params.text('itemId callId')
  const questions = questionsIn(params.at('questions'))
  const begun = call_id === undefined ? undefined : calls.get(call_id)
  const root = defined({ grantRoot: params.at('grantRoot') })
  const input = inputOf(params) ?? (begun && { ...begun, ...root })
  const isQuestion = questions !== undefined || tool === 'elicitation'
  const reason = params.text('reason message')
  return {
    kind: isQuestion ? 'question' : 'permission',
    tool,
    title: (isQuestion ? (questions?.[0]?.question ?? reason) : undefined) ?? deedOf(tool, input),
    ...(reason !== undefined && !isQuestion && { reason }),
    ...(input !== undefined && { input }),
    ...(call_id !== undefined && { call_id }),
    options: optionsOf(method, params),
    ...(questions && { questions }),
  }
}

function inputOf(params: Rec): unknown {
  const { command, cwd, questions, fileChanges, permissions, requestedSchema } = params.values
  // What is asked for beside the command: a host, more rights, input for a command that runs.
  const { networkApprovalContext: network, additionalPermissions } = params.values
  const kind = params.at('kind') === 'command' ? undefined : params.at('kind')
  const more = defined({ kind, network, additionalPermissions })
  if (command !== undefined || network) return { ...defined({ command, cwd }), ...more }
  if (fileChanges !== undefined) return { changes: changesByPath(Rec.of(fileChanges)) }
  if (questions !== undefined) return { questions }
  return permissions ?? requestedSchema ?? undefined
}

function defined(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => (value ?? undefined) !== undefined))
}

const accept: RequestOption = { id: 'accept', kind: 'allow_once', label: 'Allow' }
const acceptForSession: RequestOption = {
  id: 'acceptForSession',
  kind: 'allow_always',
  label: 'Allow for this session',
}
const decline: RequestOption = { id: 'decline', kind: 'reject_once', label: 'Reject' }
const cancel: RequestOption = { id: 'cancel', kind: 'cancel', label: 'Reject, and stop the turn' }

function optionsOf(method: string, params: Rec): readonly RequestOption[] {
  switch (method) {
    case 'item/commandExecution/requestApproval': {
      const offered = params.list('availableDecisions').flatMap((decision) => decisionOf(decision) ?? [])
      const listed = offered.length > 0 ? offered : [accept, cancel]
      // The server takes these, too, though it does not list them.
      const others = [acceptForSession, decline].filter(({ id }) => !listed.some((one) => one.id === id))
      return [...listed, ...others]
    }
    case 'item/fileChange/requestApproval':
      return [accept, acceptForSession, decline, cancel]
    case 'mcpServer/elicitation/request':
      return [decline, cancel]
    case 'execCommandApproval':
    case 'applyPatchApproval':
      return [
        { ...accept, id: 'approved' },
        { ...acceptForSession, id: 'approved_for_session' },
        { ...decline, id: 'denied' },
        { ...cancel, id: 'abort' },
      ]
    default:
      return []
  }
}

const plain = [accept, acceptForSession, decline, cancel]

/** A decision that is offered: a word, or a record with a rule for later commands. */
export function decisionOf(decision: unknown): RequestOption | undefined {
  if (typeof decision === 'string') {
    const other: RequestOption = { id: decision, kind: 'cancel', label: decision }
    return plain.find(({ id }) => id === decision) ?? other
  }
  const rule = Rec.of(decision)
  const name = Object.keys(rule?.values ?? {})[0]
  if (!rule || name === undefined) return undefined
  const words = rule.list(`${name}.execpolicy_amendment`).join(' ')
  const network = rule.record(`${name}.network_policy_amendment`)
  const host = network?.text('host')
  // One rule to allow a host and one to reject it may be offered together.
  const id = network ? [name, network.text('action'), host].join(':') : name
  const subject = words || host || name
  return network?.at('action') === 'deny'
    ? { id, kind: 'reject_always', label: `Always reject ${subject}` }
    : { id, kind: 'allow_always', label: `Always allow ${subject}` }
}

/**
 * The client's half of `codex app-server`. Without `approval_policy` in its command line it asks before every
 * command that is not known to change nothing: that policy cannot be configured elsewhere.
 */
export const codexWire: Wire = {
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
