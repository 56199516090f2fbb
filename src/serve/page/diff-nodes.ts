import { make } from './element.ts'

/** Maximum number of lines of a diff to draw; the rest is counted. */
const MAX_LINES = 2000

/** A unified diff, with added and removed lines distinguished by sign and colour. */
export function diffNodes(diff: string): HTMLElement {
  const lines = diff.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const shown = lines.slice(0, MAX_LINES).map((line) => make('span', kindOf(line), `${line}\n`))
  const more = lines.length - shown.length
  if (more > 0) shown.push(make('span', 'meta', `… ${more.toLocaleString()} more lines`))
  return make('pre', { class: 'diff', tabindex: 0 }, ...shown)
}

/** Two texts, the one before and the one after, as a diff of whole lines. */
export function replacedNodes(before: string, after: string): HTMLElement {
  const signed = (sign: string, text: string) =>
    text === ''
      ? []
      : text
          .slice(0, MAX_TEXT)
          .split('\n')
          .map((line) => sign + line)
  return diffNodes([...signed('-', before), ...signed('+', after)].join('\n'))
}

const MAX_TEXT = 200_000

/** Whether a text is a unified diff, judging by its first lines. */
export function isDiff(text: string): boolean {
  return text.startsWith('diff --git ') || (text.startsWith('--- ') && text.slice(0, 2000).includes('\n+++ '))
}

function kindOf(line: string): string | undefined {
  if (
    line.startsWith('+++') ||
    line.startsWith('---') ||
    line.startsWith('diff ') ||
    line.startsWith('index ')
  )
    return 'meta'
  if (line.startsWith('@@')) return 'hunk'
  if (line.startsWith('+')) return 'added'
  return line.startsWith('-') ? 'removed' : undefined
}
