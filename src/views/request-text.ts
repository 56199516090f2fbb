import type { SettledBy } from '../events/event.ts'
import type { RequestItem } from './conversation.ts'
import { callSubject } from './tool-text.ts'

const ends: Readonly<Record<SettledBy, string>> = {
  user: 'answered',
  limit: 'no answer in time',
  agent: 'the agent went on',
  interrupt: 'interrupted',
  end: 'no answer',
}

/**
 * How a request ended, in a few words for people.
 *
 * @example
 * answerWords(item) // 'answered: Allow for this session'
 */
export function answerWords({ by, option, answers }: Pick<RequestItem, 'by' | 'option' | 'answers'>): string {
  if (by === undefined) return 'waits for an answer'
  const words = Object.hasOwn(ends, by) ? ends[by] : by
  const chosen = answers.length > 0 ? answers.join(', ') : option?.label
  return chosen ? `${words}: ${chosen}` : words
}

/** What a request asks, in one line: the question, or the tool and what it would do. */
export function askWords({ request: { kind, tool, title, input } }: Pick<RequestItem, 'request'>): string {
  if (kind === 'question') return title
  const subject = callSubject(input)
  // Some agents show no input, or only the title.
  const known = subject !== '' && !subject.startsWith('{')
  return `${tool}: ${known ? subject : title}`
}

/** The questions of a request with the answers that are offered, or its options, a line for each. */
export function choiceLines({ request: { questions, options }, option, answers }: RequestItem): string[] {
  const line = (chosen: boolean, label: string) => `${chosen ? '●' : '○'} ${label}`
  if (!questions) return options.map(({ id, label }) => line(id === option?.id, label))
  // Several answers to one question may be one text.
  const isChosen = (label: string) =>
    answers.some((text) => text === label || text.split(', ').includes(label))
  return questions.flatMap(({ question, options: offered }) => [
    question,
    ...offered.map(({ label, description }) =>
      line(isChosen(label), `${label}${description ? ` – ${description}` : ''}`),
    ),
  ])
}
