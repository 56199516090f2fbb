import type { AgentEvent, ResultData } from '../events/event.ts'
import { type Flow, flow } from '../streams/flow.ts'
import { feed, withEnd } from './run-flow.ts'
import type { ReplyOptions, Run, RunEnd } from './run-options.ts'
import { SpentTokens } from './session-tokens.ts'
import { nobodyAnswers, type RequestAnswer, whenUnheard } from './talk.ts'

/**
 * A run whose result is asked for again while it fails its schema, at most so often: the events of all its
 * attempts in one flow, and the end of the last one, with what all of them have used.
 */
export function withRounds(first: Run, most: number): Run {
  if (most === 0) return first
  let current = first
  let last: RunEnd | undefined
  const failed: ResultData[] = []
  const spent = new SpentTokens()
  let isUnread = false

  async function* events(): AsyncGenerator<AgentEvent> {
    for (;;) {
      for await (const event of current) {
        spent.add(event)
        yield event
      }
      const end = await current.end
      last = end
      if (failed.length === most || !mayAskAgain(end)) return
      const next = current.reply(correction(end.result))
      // It cannot be continued: what it answered is the result.
      if (next.attempt === 0) return
      failed.push(end.result)
      current = next
      if (isUnread) nobodyAnswers(current)
    }
  }

  const made = flow<never, AgentEvent>((next) => next)
  const end = feed(events(), made, {
    stop: (failure) => current.destroy(failure ?? undefined),
    tidy() {},
  }).then(async () => {
    const ended = last ?? (await current.end)
    if (failed.length === 0) return ended
    // All rounds are in one session.
    const { cost, ...tokens } = spent.bySession()[ended.session ?? ''] ?? {}
    return {
      ...ended,
      rounds: failed,
      tokens: Object.keys(tokens).length > 0 ? tokens : ended.tokens,
      cost: cost ?? ended.cost,
    }
  })
  end.catch(() => {})
  const run = Object.defineProperties(made as Flow<AgentEvent>, {
    runId: { value: first.runId },
    audit: { value: first.audit },
    attempt: { get: () => current.attempt },
    kill: { value: (signal?: NodeJS.Signals) => current.kill(signal) },
    type: { value: (text: string) => current.type(text) },
    reply: {
      value(text: string, { rounds = most, ...options }: ReplyOptions = {}) {
        const next = current.reply(text, options) as Run
        return next === current ? run : withRounds(next, rounds)
      },
    },
    answer: { value: (id: string, answer: RequestAnswer) => current.answer(id, answer) },
    interrupt: { value: () => current.interrupt() },
  })
  const unread = () => {
    isUnread = true
    nobodyAnswers(current)
  }
  whenUnheard(run, unread)
  return withEnd(run, end, unread) as unknown as Run // cast: the end of a stream is hidden
}

/** Only a turn that ended well is asked again: another one has other troubles than its result. */
function mayAskAgain(end: RunEnd): end is RunEnd & { readonly result: ResultData } {
  const { result, completion, exitCode } = end
  return (
    result?.status === 'failed' &&
    completion.outcome === 'failed' &&
    completion.state !== 'interrupted' &&
    exitCode === 0
  )
}

const MAX_LINES = 20
const MAX_TEXT = 4000

/** What is wrong, in the words of the schema. */
function correction({ errors = [] }: ResultData): string {
  const lines = errors.slice(0, MAX_LINES).map(({ path, message }) => `- ${path || '/'}: ${message}`)
  const wrong = lines.length > 0 ? lines.join('\n').slice(0, MAX_TEXT) : '- no JSON was found in your answer'
  return `The JSON of your answer does not match its schema:\n${wrong}\nReply with the corrected JSON only.`
}
