import type { RequestOption } from '../../events/event.ts'
import type { Ask } from '../../events/open-requests.ts'
import type { Rec } from '../../events/record.ts'
import { questionsIn } from '../questions.ts'
import { inputOf, titleOf } from './tool.ts'

/** What a permission request asks. */
export function askedIn(params: Rec, call: Rec, tool: string): Omit<Ask, 'id' | 'signal'> {
  const questions = questionsIn(call.at('rawInput.questions'))
  const options = params.records('options').map(optionOf)
  const call_id = call.text('toolCallId')
  const title = call.text('title')
  // Where the title is all that is shown, it is the command: whoever allows it must see its end.
  const input = inputOf(call.at('rawInput')) ?? diffsOf(call) ?? (title === undefined ? title : { title })
  return {
    kind: questions ? 'question' : 'permission',
    tool,
    title: titleOf(call)?.title ?? tool,
    ...(input !== undefined && { input }),
    ...(call_id !== undefined && { call_id }),
    // The protocol has no field for the answers to a question: it can only be turned down.
    options: questions ? options.filter(({ kind }) => !kind.startsWith('allow')) : options,
    ...(questions && { questions }),
  }
}

const kinds = ['allow_once', 'allow_always', 'reject_once', 'reject_always'] as const

function optionOf(option: Rec): RequestOption {
  const id = option.text('optionId') ?? ''
  // An unknown kind must not look like a permission.
  const kind = kinds.find((known) => known === option.at('kind')) ?? 'cancel'
  return { id, kind, label: option.text('name') ?? id }
}

/** Gemini CLI shows only the change that a call would make. */
function diffsOf(call: Rec): { readonly changes: readonly object[] } | undefined {
  const diffs = call.records('content').filter((entry) => entry.at('type') === 'diff')
  const changes = diffs.map(({ values: { path, oldText, newText } }) => ({ path, oldText, newText }))
  return changes.length > 0 ? { changes } : undefined
}
