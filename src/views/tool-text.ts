import type { AgentRequest, SettledBy, ToolData } from '../events/event.ts'

/** The result of a call, as text: its output, else its error. Output that is not text is written as JSON. */
export function outputText({ output, error }: ToolData): string {
  if (output === undefined) return error ?? ''
  return typeof output === 'string' ? output : JSON.stringify(output)
}

/** A value for people: text unchanged, anything else as indented JSON. */
export function pretty(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}

/** Why a call failed, as a short message or all of its output; never empty. */
export function failureText(data: ToolData): string {
  const { error, exit_code } = data
  return error || outputText(data) || (exit_code === undefined ? 'failed' : `exit ${exit_code}`)
}

/** Something that the agent asks, and how that ended. */
export interface Asked {
  readonly request: AgentRequest
  /** Who settled it; undefined while it is open. */
  by: SettledBy | undefined
  /** The option that was chosen. */
  option: AgentRequest['options'][number] | undefined
  /** The answers to its questions. */
  answers: readonly string[]
}

const ends: Readonly<Record<SettledBy, string>> = {
  user: 'answered',
  control: 'answered from afar',
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
export function answerWords({ by, option, answers }: Omit<Asked, 'request'>): string {
  if (by === undefined) return 'waits for an answer'
  const words = Object.hasOwn(ends, by) ? ends[by] : by
  const chosen = answers.length > 0 ? answers.join(', ') : option?.label
  return chosen ? `${words}: ${chosen}` : words
}

/** The questions of a request with the answers that are offered, or its options, a line for each. */
export function choiceLines({
  request: { questions, options },
  option,
  answers,
}: Omit<Asked, 'by'>): string[] {
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
