import { Fault, quote } from '../base/fault.ts'
import type { AgentRequest, RequestOption } from '../events/event.ts'
import { Rec } from '../events/record.ts'
import type { WireChoice } from '../events/talk-wire.ts'

/**
 * An answer to a request of an agent: the id of one of its options, or a kind that exactly one of them has;
 * or the answers to its questions, by their ids. `'cancel'` dismisses every request.
 *
 * @example
 * const permission: RequestAnswer = 'allow_once'
 * const answers: RequestAnswer = { answers: { colour: 'Blue' } }
 */
export type RequestAnswer =
  | string
  | { readonly answers: Readonly<Record<string, string | readonly string[]>> }

/** The option that the user chose. Throws if it is none of the request, or not clear which. */
export function optionIn(request: AgentRequest, answer: unknown): WireChoice {
  const { options } = request
  const named = options.filter(({ id }) => id === answer)
  const alike = options.filter(({ kind }) => kind === answer)
  // What an agent calls a kind of its own is `cancel` here: only its id chooses it. No id makes a refusal a
  // permission.
  const odd =
    named.some(({ kind }) => kind.startsWith('allow')) && /^(?:reject_|cancel$)/.test(String(answer))
  if (answer === 'cancel' && (named.length !== 1 || odd)) return {}
  const found = named.length > 0 ? named : alike
  const [option] = found
  const clear = found.length === 1 && !odd && alike.every((one) => one === option)
  if (option && clear && isOnly(request, option)) return { option: option.id }
  const offered = options.map(({ id, kind }) => `${quote(id, 60)} (${kind})`).join(', ') || 'none'
  const why = option ? 'several options are called' : 'there is no option'
  throw new Fault(
    'BAD_OPTION',
    `answer: ${why} ${quote(String(answer), 60)}; there are: ${offered}, and "cancel"`,
  )
}

export function isOnly({ options }: AgentRequest, option: RequestOption): boolean {
  return options.filter(({ id }) => id === option.id).length === 1
}

/** The answers of the user, by question. */
export function answersIn(request: AgentRequest, given: unknown): WireChoice {
  const { questions = [] } = request
  const answers = Rec.of(given)?.values
  const isText = (word: unknown) => typeof word === 'string'
  const fits = (words: unknown) =>
    isText(words) || (Array.isArray(words) && words.length > 0 && words.every(isText))
  const known = new Set(questions.map(({ id }) => id))
  const names = Object.keys(answers ?? {})
  if (!answers || names.length === 0 || names.some((id) => !known.has(id) || !fits(answers[id])))
    throw new Fault(
      'BAD_OPTION',
      `answer: give an option of the request, or { answers } with a text for its questions: ${[...known].map((id) => quote(id, 60)).join(', ') || 'it has none'}`,
    )
  return {
    answers: questions.flatMap((question, index) => {
      const words = answers[question.id]
      // cast: checked above
      return words === undefined ? [] : [{ index, question, words: [words].flat() as string[] }]
    }),
  }
}
