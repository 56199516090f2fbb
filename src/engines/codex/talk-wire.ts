import { Rec } from '../../events/record.ts'
import type { Wire, WireChoice, WireRecord } from '../../events/talk-wire.ts'
import { CLIENT, refusalOf, resultIn } from '../json-rpc.ts'
import { decisionOf } from './asked.ts'

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
    const result = resultOf(record, choice)
    return result ? { id: record['id'], result } : refusalOf(record)!
  },
  refuse: refusalOf,
}

function resultOf(record: WireRecord, { option, answers }: WireChoice): object | undefined {
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
