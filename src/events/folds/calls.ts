import { defined } from '../../base/check-options.ts'
import { type CallFacts, type Engine, kindsByName, type Say } from '../engine.ts'
import type { ToolData } from '../event.ts'
import { memory } from '../memory.ts'
import { checkText, checkWord, type Report, type Writable } from '../report.ts'
import type { Turns } from './turns.ts'

/** Open calls without an id to remember. */
const MAX_WITHOUT_ID = 1024

/** The calls that are open, and ids for those that the engine gives none. */
class CallIds {
  readonly #newId: () => string
  readonly #calls = memory<Pick<CallFacts, 'name' | 'parent'>>(({ name }) => name.length)
  /** Those of them for which the engine has no id, oldest first. */
  readonly #withoutId: Pick<CallFacts, 'id' | 'name'>[] = []

  constructor(newId: () => string) {
    this.#newId = newId
  }

  start({ id, name, parent }: CallFacts): void {
    this.#calls.set(id, { name, parent })
  }

  /** False if its start was not reported. */
  end(id: string): boolean {
    return this.#calls.take(id) !== undefined
  }

  /**
   * A call without an id gets one of ours. If one of its two ends lacks the id, the other is that of the only
   * call without one, or of the first of its name, or of the only call at all; an end of which that is not
   * known is a call of its own.
   */
  withId(of: CallFacts, starts: boolean): CallFacts {
    const open = this.#withoutId
    if (of.id !== '' && (starts || open.length === 0 || this.#calls.get(of.id) !== undefined)) return of
    const isAny = open.length === 1 && (of.id === '' || of.name === 'tool')
    const own = isAny ? 0 : open.findIndex(({ name }) => name === of.name)
    const [before] = starts || own < 0 ? [] : open.splice(own, 1)
    const only = starts || before || of.id !== '' ? undefined : this.#onlyCall(of)
    const id = (before?.id ?? only ?? of.id) || this.#newId()
    const name = before?.name ?? (only === undefined ? of.name : this.#calls.get(only)!.name)
    const call = { ...of, id, name }
    if (starts) open.push({ id: call.id, name: call.name })
    if (open.length > MAX_WITHOUT_ID) open.shift()
    return call
  }

  /** The call that is open, if it is the only one of its parent and its name. */
  #onlyCall({ name, parent }: CallFacts): string | undefined {
    let only: string | undefined
    for (const [id, call] of this.#calls.entries()) {
      if (call.parent !== parent || (name !== 'tool' && name !== call.name)) continue
      if (only !== undefined) return undefined
      only = id
    }
    return only
  }
}

/** Characters of the error of a call that may say that it was not allowed. */
const MAX_ERROR = 500

const TYPES = {
  started: 'tool.call.started',
  completed: 'tool.call.completed',
  failed: 'tool.call.failed',
} as const

/** The tool calls of the agent: each begins once, and what it does is known by its name. */
export class Calls {
  readonly #report: Report
  readonly #turns: Turns
  readonly #ids: CallIds
  #kinds = kindsByName()
  #denials: Engine['denials']

  constructor(report: Report, turns: Turns, nextNumber: () => number) {
    this.#report = report
    this.#turns = turns
    this.#ids = new CallIds(() => `call-${nextNumber()}`)
  }

  /** What the engine's tools are, and its words for a call that was not allowed. */
  of({ tools, denials }: Pick<Engine, 'tools' | 'denials'>): void {
    this.#kinds = kindsByName(tools)
    this.#denials = denials
  }

  told(state: Parameters<Say['call']>[0], given: CallFacts): void {
    checkWord('call', state, 'input', 'started', 'completed', 'failed')
    checkText('the id of a call', given?.id)
    checkText('the name of a call', given.name)
    if (state === 'input') {
      this.#piece(given)
      return
    }
    const report = this.#report
    const { evidence } = this.#turns
    const starts = state === 'started'
    const of = this.#ids.withId(given, starts)
    const when = this.#turns.work()
    if (starts) this.#ids.start(of)
    else if (!this.#ids.end(of.id)) {
      const { id, name, kind, input, parent } = of
      report.write('tool.call.started', this.#data({ id, name, kind, input, parent }))
      if (parent === undefined) evidence.called(when, { id, name }, 'started')
    }
    // A subagent does not ask the user.
    if (of.parent === undefined) evidence.called(when, of, state)
    const data = this.#data(of, state === 'failed')
    if (data.denied && of.parent === undefined) this.#turns.denied()
    report.write(TYPES[state], data)
  }

  /** A piece of the arguments of a call that has not begun. */
  #piece(call: CallFacts): void {
    const text = call.input
    checkText('a piece of the input of a call', text)
    if (text === '' || call.id === '' || this.#report.frame?.extra) return
    this.#turns.work()
    const { call_id, name, kind, parent_call_id } = this.#data(call)
    this.#report.write('tool.call.input.delta', { call_id, name, kind, text, ...defined({ parent_call_id }) })
  }

  #data(of: CallFacts, failed = false): ToolData {
    const data: Writable<ToolData> = {
      call_id: of.id,
      name: of.name,
      kind: of.kind ?? this.#kinds.get(of.name) ?? 'other',
    }
    if (of.input !== undefined) data.input = of.input
    if (of.output !== undefined) data.output = of.output
    if (of.exit_code !== undefined) data.exit_code = of.exit_code
    if (of.error !== undefined) data.error = of.error
    if (failed && (of.denied ?? this.#isDenial(of))) data.denied = true
    if (of.duration_ms !== undefined) data.duration_ms = of.duration_ms
    if (of.parent !== undefined) data.parent_call_id = of.parent
    return data
  }

  /** A command with an exit code was allowed to run: its own words mean nothing here. */
  #isDenial({ exit_code, error = '' }: CallFacts): boolean {
    return exit_code === undefined && this.#denials?.test(error.slice(0, MAX_ERROR)) === true
  }
}
