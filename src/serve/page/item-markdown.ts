import { outcomeOf } from '../../events/run-outcome.ts'
import type { Item } from '../../views/conversation.ts'
import { pretty, summaryOf } from './item-text.ts'
import { outcomeLine, tokenWords, whyEnded } from './words.ts'

/** An item as Markdown that reads well in an issue; empty for items that only matter in the viewer. */
export function markdownOf(item: Item): string {
  switch (item.kind) {
    case 'message':
      return item.text.trim()
    case 'prompt':
      return quote(item.text)
    case 'reasoning':
      return `<details><summary>Thoughts</summary>\n\n${item.text.trim()}\n\n</details>`
    case 'tool': {
      const how = item.exitCode === undefined ? item.state : `${item.state}, exit ${item.exitCode}`
      const output = item.error ?? pretty(item.output)
      const head = `**${item.name}** ${code(summaryOf(item.input))} (${how})`
      return output === '' ? head : `${head}\n\n${fenced(output)}`
    }
    case 'artifact':
      return `${item.change} ${code(item.path)}${item.diff === undefined ? '' : `\n\n${fenced(item.diff, 'diff')}`}`
    case 'diagnostic':
      return `${item.severity} ${code(item.code)}: ${item.message}`
    case 'result':
      return `Result: ${item.result.status}\n\n${fenced(pretty(item.result.value ?? item.result.errors), 'json')}`
    case 'end':
      return [
        `**${outcomeLine(outcomeOf(item.end), item.end.failure_class)}**`,
        whyEnded(item.end),
        tokenWords(item.end.tokens),
      ]
        .filter(Boolean)
        .join(' ')
    case 'raw':
      return fenced(item.lines.join('\n'))
    case 'status':
      return ''
  }
}

function quote(text: string): string {
  return text
    .trim()
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')
}

function code(text: string): string {
  if (text === '') return ''
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``
}

/** A fence that is longer than any in the text. */
function fenced(text: string, language = ''): string {
  let marks = '```'
  while (text.includes(marks)) marks += '`'
  return `${marks}${language}\n${text.trimEnd()}\n${marks}`
}
