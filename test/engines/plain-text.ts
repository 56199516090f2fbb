import { endOf, type Reading, type Written } from './plain-records.ts'

/** Plain text: what is on stdout is the answer, and nothing tells the end but the exit. */
export function text({ stdout, exit }: Written): Reading {
  const words = withoutEscapes(stdout)
    .replace(/^\n+/, '')
    .replace(/\n+$/, (blank) => (blank.length > 1 ? '\n' : ''))
  const messages = words.trim() === '' ? [] : [words]
  const end = endOf(messages, undefined, exit)
  return { messages, broken: [], reasoning: [], tools: [], session: null, end }
}

function withoutEscapes(text: string): string {
  return text
    .split('\u001b')
    .map((part, index) => (index === 0 ? part : part.replace(/^(\[[\d;?]*[A-Za-z]|\][^\u0007]*\u0007)/, '')))
    .join('')
}
