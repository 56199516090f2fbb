import { askWords, callSubject } from '../../events/call-words.ts'
import { outcomeOf } from '../../events/run-outcome.ts'
import type { Item, ToolItem } from '../../views/conversation.ts'
import { codeSpan, fenced } from '../../views/markdown/safe.ts'
import { answerWords, choiceLines, pretty } from '../../views/tool-text.ts'
import { firstLine } from '../../views/words.ts'
import { outcomeLine, spentWords, whyEnded } from './words.ts'

/** Everything in an item that can be searched, as text. */
export function textOf(item: Item): string {
  switch (item.kind) {
    case 'message':
    case 'prompt':
    case 'reasoning':
      return item.text
    case 'tool':
      return [item.name, pretty(item.input), item.error, pretty(item.output)].filter(Boolean).join('\n')
    case 'request':
      return [askWords(item), answerWords(item), ...choiceLines(item)].join('\n')
    case 'artifact':
      return [`${item.change} ${item.path}`, item.diff].filter(Boolean).join('\n')
    case 'diagnostic':
      return `${item.code} ${item.message}`
    case 'status':
      return [item.status.replaceAll('_', ' '), item.model, item.reason].filter(Boolean).join(' ')
    case 'result':
      return `${item.result.status}\n${pretty(item.result.value ?? item.result.errors)}`
    case 'end':
      return [item.end.state, item.end.reason_code, item.end.evidence?.failure].filter(Boolean).join(' ')
    case 'raw':
      return item.lines.join('\n')
  }
}

/** The subject of a call: its command as it was typed, its path, its query. */
export function subjectOf({ input, lateInput }: Pick<ToolItem, 'input' | 'lateInput'>): string {
  const subject = callSubject(input) || callSubject(lateInput)
  if (!subject.startsWith('{')) return subject
  // Agents of ACP often tell no more than a title; a question is what it asks. Cast: fields are checked.
  const { title, questions } = (input ?? {}) as {
    title?: unknown
    questions?: readonly { question?: unknown }[]
  }
  const told = title ?? (Array.isArray(questions) ? questions[0]?.question : undefined)
  return typeof told === 'string' ? told : subject
}

/** An item as Markdown that reads well in an issue; empty for items that only matter in the viewer. */
export function markdownOf(item: Item): string {
  switch (item.kind) {
    case 'message':
      return item.text.trim()
    case 'prompt':
      return `> ${item.text.trim().replaceAll('\n', '\n> ')}`
    case 'reasoning':
      return `<details><summary>Thoughts</summary>\n\n${item.text.trim()}\n\n</details>`
    case 'tool': {
      const word = item.denied ? 'denied' : item.state
      const how = item.exitCode === undefined ? word : `${item.state}, exit ${item.exitCode}`
      const output = item.error ?? pretty(item.output)
      const head = `**${item.name}** ${codeSpan(firstLine(subjectOf(item)))} (${how})`
      return output === '' ? head : `${head}\n\n${fenced(output)}`
    }
    case 'request':
      return `**Asked** ${codeSpan(askWords(item))} (${answerWords(item)})`
    case 'artifact':
      return `${item.change} ${codeSpan(item.path)}${item.diff === undefined ? '' : `\n\n${fenced(item.diff, 'diff')}`}`
    case 'diagnostic':
      return `${item.severity} ${codeSpan(item.code)}: ${item.message}`
    case 'result':
      return `Result: ${item.result.status}\n\n${fenced(pretty(item.result.value ?? item.result.errors), 'json')}`
    case 'end':
      return [
        `**${outcomeLine(outcomeOf(item.end), item.end.failure_class)}**`,
        whyEnded(item.end),
        spentWords(item.end),
      ]
        .filter(Boolean)
        .join(' ')
    case 'raw':
      return fenced(item.lines.join('\n'))
    case 'status':
      return ''
  }
}
