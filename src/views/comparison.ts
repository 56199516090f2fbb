import { askWords, callSubject } from '../events/call-words.ts'
import type { Cost } from '../events/cost.ts'
import type { AgentEvent, FailureClass } from '../events/event.ts'
import type { RunOutcome } from '../events/run-outcome.ts'
import type { Tokens } from '../events/tokens.ts'
import { type ChangedFile, Changes } from './changes.ts'
import { Conversation, type Item } from './conversation.ts'

/** Something that was said or done, in one of two conversations that are compared. */
export interface ComparedStep {
  /** The address of its event: `<attempt>.<seq>`. */
  readonly event: string
  readonly kind: 'prompt' | 'message' | 'call' | 'request' | 'error'
  readonly text: string
}

/** One of two runs: what came of it, and what it took. */
export interface ComparedRun {
  /** Missing while it is in progress. */
  readonly outcome?: RunOutcome
  readonly failure_class?: FailureClass
  /** Why it did not end well, in one sentence. */
  readonly problem?: string
  /** The words of the engine's own result, else the last message. */
  readonly answer?: string
  /** With a schema: the value that passed it. */
  readonly result?: unknown
  readonly calls: { readonly called: number; readonly failed: number }
  readonly tokens?: Tokens
  readonly cost?: Cost
  /** From its first event to its last. */
  readonly milliseconds: number
}

/** How a run ended, and why, in a few words for people. */
export function outcomeWords({ outcome, problem }: ComparedRun): string {
  return [outcome?.replace('_', ' ') ?? 'in progress', problem].filter(Boolean).join(': ')
}

/** A file that one of them changed, or both. */
interface ComparedFile {
  readonly path: string
  /** Whether both changed it in the same way. */
  readonly same: boolean
  readonly files: readonly [ChangedFile | undefined, ChangedFile | undefined]
}

/** What two runs have in common, and what not. Tokens, cost and time always differ, and are only told. */
export interface RunComparison {
  readonly same: boolean
  readonly differs: readonly ('outcome' | 'answer' | 'result' | 'files' | 'calls' | 'conversation')[]
  readonly runs: readonly [ComparedRun, ComparedRun]
  readonly files: readonly ComparedFile[]
  /** Where the conversations part: the step of each, or undefined where one has no more. */
  readonly first?: readonly [ComparedStep | undefined, ComparedStep | undefined]
}

/** Characters of a step to show; all of it is compared. */
const MAX_TEXT = 4000

/**
 * Compares two runs, event by event: take them in turns, the one that `next` names first, and little is
 * remembered.
 *
 * @example
 * const comparison = new Comparison()
 * for (const event of one) comparison.take(0, event)
 * for (const event of other) comparison.take(1, event)
 * comparison.result().differs // ['outcome', 'conversation']
 */
export class Comparison {
  readonly #sides = [newSide(), newSide()] as const
  #first: RunComparison['first']

  /** The run that is behind. */
  get next(): 0 | 1 {
    const [one, other] = this.#sides
    return other.ahead.length < one.ahead.length ? 1 : 0
  }

  take(which: 0 | 1, event: AgentEvent): void {
    const side = this.#sides[which]
    const item = side.talk.take(event)
    side.changes.take(event, item)
    if (item.kind === 'end') side.end = item
    if (item.kind === 'result') side.result = item.result.value
    const step = this.#first ? undefined : stepOf(event, item)
    if (!step) return
    const other = this.#sides[which === 0 ? 1 : 0]
    const twin = other.ahead.shift()
    if (!twin) side.ahead.push(step)
    else if (twin.kind !== step.kind || twin.text !== step.text)
      this.#first = which === 0 ? [step, twin] : [twin, step]
  }

  result(): RunComparison {
    const [one, other] = this.#sides
    const runs = [runOf(one), runOf(other)] as const
    const files = comparedFiles(one.changes.files(), other.changes.files())
    const rest = [one.ahead[0], other.ahead[0]] as const
    const first = this.#first ?? (rest[0] || rest[1] ? rest : undefined)
    const isOther = (facts: (run: ComparedRun) => unknown) =>
      JSON.stringify(facts(runs[0])) !== JSON.stringify(facts(runs[1]))
    const found: Record<RunComparison['differs'][number], boolean> = {
      outcome: isOther(({ outcome, failure_class, problem }) => [outcome, failure_class, problem]),
      answer: isOther(({ answer }) => answer),
      result: isOther(({ result }) => result),
      files: files.some(({ same }) => !same),
      calls: isOther(({ calls }) => calls),
      conversation: first !== undefined,
    }
    // Cast: the keys are those of the type.
    const differs = (Object.keys(found) as (keyof typeof found)[]).filter((name) => found[name])
    const shown = first && ([shortened(first[0]), shortened(first[1])] as const)
    return { same: differs.length === 0, differs, runs, files, ...(shown && { first: shown }) }
  }
}

interface Side {
  readonly talk: Conversation
  readonly changes: Changes
  /** Steps that the other run has not come to. */
  readonly ahead: ComparedStep[]
  end?: Extract<Item, { kind: 'end' }>
  result?: unknown
}

function newSide(): Side {
  return { talk: new Conversation(), changes: new Changes(), ahead: [] }
}

function runOf({ talk, end, result }: Side): ComparedRun {
  const { outcome, failure_class, answer, tools, tokens, cost, first_ts, last_ts } = talk.summary()
  const said = end?.end.answer ?? answer
  return {
    ...(outcome && { outcome }),
    ...(failure_class && { failure_class }),
    ...(end?.end.problem && { problem: end.end.problem }),
    ...(said !== undefined && { answer: said }),
    ...(result !== undefined && { result }),
    calls: tools,
    ...(tokens && { tokens }),
    ...(cost && { cost }),
    milliseconds: first_ts && last_ts ? Date.parse(last_ts) - Date.parse(first_ts) : 0,
  }
}

/**
 * What this event completes, if that is a step of the conversation: what was said, asked, and called, and how
 * calls ended. Thoughts, outputs and warnings differ in any two runs.
 */
function stepOf(event: AgentEvent, item: Item): ComparedStep | undefined {
  const step = (kind: ComparedStep['kind'], text: string) => ({ event: item.id, kind, text })
  switch (item.kind) {
    case 'prompt':
      return event.type === 'user.message' ? step('prompt', item.text.trim()) : undefined
    case 'message':
      return item.growing ? undefined : step('message', item.text.trim())
    case 'tool': {
      if (item.state === 'running') return undefined
      const failed = item.exitCode === undefined ? 'failed' : `exit ${item.exitCode}`
      const end = item.state === 'failed' ? ` · ${item.denied ? 'denied' : failed}` : ''
      return step('call', `${item.name} ${callSubject(item.input)}`.trim() + end)
    }
    case 'request':
      return item.by === undefined ? step('request', askWords(item)) : undefined
    case 'diagnostic':
      return item.problem && !item.ours ? step('error', item.message) : undefined
    default:
      return undefined
  }
}

function shortened(step: ComparedStep | undefined): ComparedStep | undefined {
  return step && { ...step, text: step.text.slice(0, MAX_TEXT) }
}

function comparedFiles(one: readonly ChangedFile[], other: readonly ChangedFile[]): ComparedFile[] {
  const theirs = new Map(other.map((file) => [file.path, file]))
  const all = one.map((file) => [file, theirs.get(file.path)] as const)
  const mine = new Set(one.map(({ path }) => path))
  const more = other.filter(({ path }) => !mine.has(path)).map((file) => [undefined, file] as const)
  const facts = (file: ChangedFile | undefined) =>
    JSON.stringify(file && [file.change, file.edits.map(({ diff }) => diff)])
  return [...all, ...more]
    .map((files) => {
      const path = (files[0] ?? files[1])!.path
      return { path, same: facts(files[0]) === facts(files[1]), files }
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}
