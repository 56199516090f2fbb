import { deedOf } from '../../events/call-words.ts'
import type { RequestFacts } from '../../events/engine.ts'
import type { RequestOption } from '../../events/event.ts'
import { Rec } from '../../events/record.ts'
import type { Wire, WireChoice, WireRecord } from '../../events/talk-wire.ts'
import { questionsIn } from '../calls.ts'
import { errorText } from '../error-text.ts'

/** What a `can_use_tool` request asks. */
export function askedIn(id: unknown, request: Rec): RequestFacts {
  const tool = request.text('tool_name') ?? 'tool'
  const call_id = request.text('tool_use_id')
  const input = request.at('input')
  const questions = questionsIn(request.at('input.questions'))
  const reason = request.text('input.description title decision_reason')
  return {
    id,
    signal: `can_use_tool ${tool}`,
    kind: questions ? 'question' : 'permission',
    tool,
    title: questions?.[0]?.question ?? deedOf(tool, input),
    ...(reason !== undefined && !questions && { reason }),
    ...(input !== undefined && { input }),
    ...(call_id !== undefined && { call_id }),
    options: optionsOf(request.records('permission_suggestions'), questions === undefined),
    ...(questions && { questions }),
  }
}

/** Qwen Code suggests labels, Claude Code rules that are for later calls as well. */
function optionsOf(suggestions: readonly Rec[], allowed: boolean): readonly RequestOption[] {
  const label = (type: string) => suggestions.find((one) => one.at('type') === type)?.text('label')
  const rules = suggestions.flatMap((one) => ruleOf(one) ?? [])
  // A question is allowed by its answers only.
  return [
    ...(allowed ? [{ id: 'allow', kind: 'allow_once', label: label('allow') ?? 'Allow' } as const] : []),
    ...(allowed ? rules : []),
    { id: 'deny', kind: 'reject_once', label: label('deny') ?? 'Reject' },
  ]
}

/** A rule that comes with the permission. Its id is made from what it says: an answer repeats no number. */
function ruleOf(suggestion: Rec): RequestOption | undefined {
  const where = suggestion.text('destination') ?? 'session'
  const option = (kind: RequestOption['kind'], verb: string, subject: string): RequestOption => ({
    id: `${suggestion.text('type')}:${subject}:${where}`,
    kind,
    label: `${verb} ${subject} (${where})`,
  })
  switch (suggestion.at('type')) {
    case 'addRules': {
      const rules = suggestion.records('rules').map(ruleText).join(', ')
      if (suggestion.at('behavior') === 'deny') return option('reject_always', 'Always reject', rules)
      return option('allow_always', 'Always allow', rules)
    }
    case 'addDirectories':
      return option('allow_always', 'Allow', suggestion.list('directories').join(', '))
    case 'setMode':
      return option('allow_always', 'Set the mode to', suggestion.text('mode') ?? '?')
    default:
      return undefined
  }
}

function ruleText(rule: Rec): string {
  const content = rule.text('ruleContent')
  return `${rule.text('toolName') ?? 'tool'}${content === undefined ? '' : `(${content})`}`
}

/** The option that an answer of the client chooses. */
export function choiceIn(response: Rec | undefined): string | undefined {
  const [rule] = response?.records('updatedPermissions') ?? []
  const behavior = response?.text('behavior')
  return behavior === 'allow' && rule ? ruleOf(rule)?.id : behavior
}

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
