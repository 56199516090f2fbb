import { Rec } from '../../events/record.ts'
import type { Wire, WireChoice, WireRecord } from '../../events/talk-wire.ts'
import { ruleOf } from './asked.ts'

/**
 * The client's half of Claude Code's control protocol (`--input-format stream-json`), which Qwen Code speaks,
 * too. Claude Code finds an answer by the text of its question, Qwen Code by its position.
 */
export function controlWire(byPosition: boolean): Wire {
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
          ? { error: error ?? 'an error without a message' }
          : { result: record.record('response.response')?.values ?? {} }),
      }
    },
    answer: (record, choice) =>
      response(record, { subtype: 'success', response: decisionOf(new Rec(record), choice, byPosition) }),
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

function response(
  record: WireRecord,
  { subtype, ...more }: { readonly subtype: string; readonly [key: string]: unknown },
) {
  return { type: 'control_response', response: { subtype, request_id: record['request_id'], ...more } }
}

/** The input is sent as it was asked: it decides what runs. */
function decisionOf(record: Rec, { option, answers }: WireChoice, byPosition: boolean): object {
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
