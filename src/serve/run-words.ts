import { endPhrase } from '../events/run-outcome.ts'
import { firstLine } from '../views/words.ts'
import type { RunInfo } from './run-info.ts'

// How a run in a list is called and found: the same on the page and in `sluice ls`.

/** The states to filter runs by, the most interesting first. */
export const runStates = [
  'running',
  'failed',
  'needs_input',
  'unknown',
  'unread',
  'cancelled',
  'finished',
  'succeeded',
] as const
export type RunState = (typeof runStates)[number]

/** What it was asked to do; without that, where it is. */
export function titleOf(run: RunInfo): string {
  return firstLine(run.task ?? '') || run.session?.directory || run.id
}

/** How it ended; for a run in progress, whether it waits for an answer. */
export function stateOf(run: RunInfo): RunState {
  if (run.state === 'running' && run.waits_for !== null) return 'needs_input'
  return run.outcome ?? (run.state === 'unread' ? 'unread' : 'running')
}

/** How it ended, or that it did not, and why it failed in one word. */
export function outcomeText(run: RunInfo): string {
  const why = run.failure_class && run.failure_class !== 'other' ? ` · ${run.failure_class}` : ''
  return stateOf(run).replace('_', ' ') + why
}

/** Milliseconds from its start to its end, or until now. */
export function tookOf({ started_at, ended_at, state }: RunInfo): number | undefined {
  if (started_at === null || (ended_at === null && state !== 'running')) return undefined
  return Math.max(0, (ended_at === null ? Date.now() : Date.parse(ended_at)) - Date.parse(started_at))
}

/** Why it ended badly, or what it waits for; empty if neither. */
export function problemOf(run: RunInfo): string {
  return run.problem ?? (run.waits_for === null ? '' : `waits for an answer: ${run.waits_for}`)
}

/** Its tags, as `name=text`. */
export function tagsOf({ tags = {} }: RunInfo): string[] {
  return Object.entries(tags).map(([name, text]) => `${name}=${text}`)
}

/** Whether a run has every word that was typed to find it. */
export function isFound(run: RunInfo, typed: string): boolean {
  const words = typed.toLowerCase().split(' ')
  return words.every((word) => wordsOf(run).includes(word))
}

const texts = new WeakMap<RunInfo, string>()

/** Everything a reader may type to find a run: task, name, engine, and all words for how it ended. */
function wordsOf(run: RunInfo): string {
  const known = texts.get(run)
  if (known !== undefined) return known
  const outcome =
    run.outcome === null
      ? `${stateOf(run)} live`
      : `${run.outcome} ${endPhrase(run.outcome, run.failure_class)}`
  const words = [
    run.task,
    run.id,
    run.engine,
    run.model,
    ...tagsOf(run),
    run.state,
    outcome.replaceAll('_', ' '),
    outcome,
    problemOf(run),
  ]
  const text = [...words, run.session?.directory, ...run.argv].join(' ').toLowerCase()
  texts.set(run, text)
  return text
}
