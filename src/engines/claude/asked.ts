import { deedOf } from '../../events/call-subject.ts'
import type { RequestFacts } from '../../events/engine.ts'
import type { RequestOption } from '../../events/event.ts'
import type { Rec } from '../../events/record.ts'
import { questionsIn } from '../calls.ts'

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
export function ruleOf(suggestion: Rec): RequestOption | undefined {
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
