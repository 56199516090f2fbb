import { defined } from '../base/check-options.ts'
import { type Cost, costCounter } from '../events/cost.ts'
import type { AgentEvent, FailureClass } from '../events/event.ts'
import { outcomeOf, type RunOutcome } from '../events/run-outcome.ts'
import { type Tokens, tokenCounter } from '../events/tokens.ts'
import { OpenCalls } from './open-items.ts'

/** Files that a summary lists; more are only counted. */
const MAX_FILES = 1000
/** Paths to tell apart: beyond that, a file that is changed twice counts twice. */
const MAX_PATHS = 100_000
/** Characters of the prompt that a summary keeps. */
const MAX_PROMPT = 64 * 1024

/** What is known of a run so far. What the engine did not report is missing, not empty and not 0. */
export interface RunSummary {
  readonly engine?: string
  readonly engine_version?: string
  readonly model?: string
  readonly cwd?: string
  readonly session_id?: string
  /** The first message of the user that the events have, at most 64 K characters of it. */
  readonly prompt?: string
  /** The times of the first and the last event; the time of reading, if the log has none. */
  readonly first_ts?: string
  readonly last_ts?: string
  /** How many there were, pieces included. */
  readonly events: number
  /** How many attempts of the run they are of. */
  readonly attempts: number
  /** How often the engine reported that a turn begins; some never do. */
  readonly turns: number
  /** Messages of the agent and of its subagents, each counted once, whole or cut. */
  readonly messages: number
  readonly tools: { readonly called: number; readonly failed: number }
  /** Paths in the order in which they were first changed, the first 1,000, and how many there are. */
  readonly files: readonly string[]
  readonly file_count: number
  /** Diagnostics of severity `warning` and worse. */
  readonly warnings: number
  readonly tokens?: Tokens
  /** As the engine reports it. */
  readonly cost?: Cost
  /** Missing while the run is in progress. */
  readonly outcome?: RunOutcome
  /** Of a run that failed: why, in one word. */
  readonly failure_class?: FailureClass
  /** The agent's last complete message: `text` of the end of a `run()`, and not its `answer`. */
  readonly answer?: string
}

type Growing = { -readonly [K in keyof RunSummary]: RunSummary[K] }

/**
 * Adds up the events of a run, for its head and its end. Memory does not grow with the run, except for the
 * paths of files.
 *
 * @example
 * const { tools } = await summary(run('codex', ['exec', '--json', 'fix the test']))
 * console.log(tools.failed)
 */
export async function summary(events: AsyncIterable<AgentEvent> | Iterable<AgentEvent>): Promise<RunSummary> {
  const facts = summarizer()
  for await (const event of events) facts.write(event)
  return facts.summary()
}

/** The same, event by event. */
export function summarizer(): { write(event: AgentEvent): void; summary(): RunSummary } {
  const facts: Partial<Growing> = {}
  const paths = new Set<string>()
  const attempts = new Set<number>()
  const calls = new OpenCalls<true>()
  let [events, turns, messages, called, failed, file_count, warnings] = [0, 0, 0, 0, 0, 0, 0]
  /** The total from the end of an attempt; before that, the sum of its turns. */
  let reported: { readonly tokens?: Tokens | undefined; readonly cost?: Cost | undefined } = {}
  let spent = { tokens: tokenCounter(), cost: costCounter() }

  const change = (path: string) => {
    if (paths.has(path)) return
    file_count++
    if (paths.size < MAX_PATHS) paths.add(path)
  }

  const write = (event: AgentEvent) => {
    events++
    attempts.add(event.attempt_number)
    facts.first_ts ??= event.ts
    facts.last_ts = event.ts
    facts.engine = event.source.engine
    if (event.correlation.session_id !== undefined) facts.session_id = event.correlation.session_id
    switch (event.type) {
      case 'lifecycle.run.status': {
        const { status, model, cwd, engine_version, tokens, cost } = event.data
        // A new attempt begins: the run is in progress again.
        if (status === 'started') {
          delete facts.outcome
          delete facts.failure_class
        }
        if (status === 'turn_started') turns++
        Object.assign(facts, defined({ model, cwd, engine_version }))
        if (tokens !== undefined) spent.tokens.add(tokens)
        if (cost !== undefined) spent.cost.add(cost)
        return
      }
      case 'lifecycle.completion.state':
        facts.outcome = outcomeOf(event.data)
        if (event.data.failure_class) facts.failure_class = event.data.failure_class
        reported = { tokens: event.data.tokens ?? reported.tokens, cost: event.data.cost ?? reported.cost }
        spent = { tokens: tokenCounter(), cost: costCounter() }
        calls.takeAll()
        return
      case 'user.message':
        facts.prompt ??= event.data.text.slice(0, MAX_PROMPT)
        return
      case 'agent.message.final':
        messages++
        if (!event.data.incomplete && event.data.parent_call_id === undefined) facts.answer = event.data.text
        return
      case 'tool.call.started':
        called++
        calls.start(event.data.call_id, true)
        return
      case 'tool.call.completed':
      case 'tool.call.failed':
        // Some engines report only the end of a call.
        if (!calls.end(event.data.call_id)) called++
        if (event.type === 'tool.call.failed') failed++
        return
      case 'artifact.created':
      case 'artifact.modified':
      case 'artifact.deleted':
        change(event.data.path)
        return
      case 'diagnostic.parser.warning':
      case 'diagnostic.engine.error':
        if (event.data.severity !== 'info') warnings++
        return
    }
  }

  const summary = (): RunSummary => {
    const tokens = spent.tokens.sum() ?? reported.tokens
    const cost = spent.cost.sum() ?? reported.cost
    return {
      ...facts,
      events,
      attempts: attempts.size,
      turns,
      messages,
      tools: { called, failed },
      files: [...paths].slice(0, MAX_FILES),
      file_count,
      warnings,
      ...(tokens && { tokens }),
      ...(cost && { cost }),
    }
  }
  return { write, summary }
}
