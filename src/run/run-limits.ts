import { isCount, NOT_TAKEN, type OptionTable, readOptions } from '../base/check-options.ts'
import { type Note, orElse } from '../base/fault.ts'
import { type Blind, blindTo } from '../engines/programs.ts'
import { costCounter } from '../events/cost.ts'
import type { AgentEvent } from '../events/event.ts'
import type { Tokens } from '../events/tokens.ts'

/**
 * What a run may use. It is counted from the events as they are read; a run that passes a limit while it
 * works is ended, as by a time limit. What an engine reports only at the end of its turn stops nothing.
 */
export interface Limits {
  /** Tokens, input and output together. @default no limit */
  readonly tokens?: number | undefined
  /** What it may cost, in the currency that the engine reports. @default no limit */
  readonly cost?: number | undefined
  /** Tool calls, those of subagents included. @default no limit */
  readonly toolCalls?: number | undefined
  /**
   * Bytes that it prints, on all channels together. It is looked at ten times a second, and with each piece
   * that is read: what is printed until then is in the recording, and is read before the run ends.
   * @default no limit
   */
  readonly output?: number | undefined
}

const isAmount = (value: unknown) => Number.isFinite(value) && (value as number) > 0
const COUNT = 'be a whole number above 0, but is %'

const LIMIT_OPTIONS = {
  signal: NOT_TAKEN,
  tokens: { is: isCount, must: COUNT },
  cost: { is: isAmount, must: 'be an amount above 0, but is %' },
  toolCalls: { is: isCount, must: COUNT },
  output: { is: isCount, must: COUNT },
} as const satisfies OptionTable<Limits>

/** Counts what a run has used. */
export class LimitCounter {
  readonly #limits: Limits
  /** What was reported at all, and whether the agent has said something. */
  readonly #reported = new Set<Blind>()
  /** Limits of which it was told that they cannot hold. */
  readonly #told = new Set<Blind>()
  #spoke = false
  /** A count of its tokens was missing, or was no number. */
  #isPartial = false
  #tokens = 0
  /** Of the turn that goes on. */
  #turn = 0
  #toolCalls = 0
  readonly #printed: () => number
  /** The first that was passed. */
  hit: keyof Limits | null = null
  readonly #cost = costCounter()

  /** `printed` tells the bytes that the process has printed, also those that are no event yet. */
  constructor(limits: Limits, printed: () => number = () => 0) {
    this.#printed = printed
    this.#limits = readOptions('limit of run', limits, '{ limit: { toolCalls: 50 } }', LIMIT_OPTIONS)
  }

  add(event: AgentEvent): void {
    if (event.type === 'tool.call.started') this.#toolCalls++
    if (event.type === 'agent.message.final') this.#spoke = true
    if (event.type !== 'lifecycle.run.status') return
    const { tokens, turn_tokens, cost } = event.data
    this.#tokens += allOf(tokens)
    if (tokens || turn_tokens) this.#turn = tokens ? 0 : allOf(turn_tokens)
    if (cost) this.#cost.add(cost)
    if (tokens || turn_tokens) this.#reported.add('tokens')
    if (tokens && (tokens.input === undefined || tokens.output === undefined)) this.#isPartial = true
    if (cost) this.#reported.add('cost')
  }

  /** Whether it may pass one between two reads: what is recorded is written before it is read. */
  get needsClock(): boolean {
    return this.#limits.output !== undefined
  }

  /** The limits that cannot hold, because the agent of this engine never reports what they limit. */
  blind(engine: string): Note[] {
    const blind = blindTo(engine).filter((what) => this.#limits[what] !== undefined)
    for (const what of blind) this.#told.add(what)
    return blind.map((what) => blindNote(what, `${engine} never reports ${WORDS[what]}`))
  }

  /** The same at the end, of an agent that answered and reported nothing of the kind. */
  unseen(): Note[] {
    const kinds = this.#spoke ? (['tokens', 'cost'] as const) : []
    const partly = blindNote('tokens', 'a count of its tokens was missing, or no number, and is not counted')
    const isPartial = this.#isPartial && this.#limits.tokens !== undefined
    return kinds
      .filter((what) => this.#limits[what] !== undefined)
      .filter((what) => !this.#reported.has(what) && !this.#told.has(what))
      .map((what) => blindNote(what, `the agent reported no ${WORDS[what]}`))
      .concat(isPartial ? [partly] : [])
  }

  /** The limit that was passed, if one was, as the reason to end the run, or as what was seen too late. */
  passed(code: 'RUN_LIMIT' | 'LIMIT_PASSED' = 'RUN_LIMIT'): Note | undefined {
    const { tokens, cost, toolCalls, output } = this.#limits
    const used = [
      ['tokens', tokens, this.#tokens + this.#turn, 'tokens'],
      ['cost', cost, this.#cost.sum()?.amount ?? 0, 'for its cost'],
      ['toolCalls', toolCalls, this.#toolCalls, 'tool calls'],
      ['output', output, output === undefined ? 0 : this.#printed(), 'bytes of output'],
    ] as const
    for (const [name, limit, count, words] of used) {
      if (limit === undefined || count <= limit) continue
      this.hit ??= name
      const then =
        code === 'RUN_LIMIT' ? 'so the process was ended' : 'but that was told only when its turn was over'
      return { code, message: `the run passed its limit of ${limit} ${words} (${count}), ${then}` }
    }
    return undefined
  }
}

const WORDS: Readonly<Record<Blind, string>> = {
  tokens: 'tokens',
  cost: 'cost',
  toolCalls: 'tool calls',
}

function blindNote(what: Blind, why: string): Note {
  return { code: 'LIMIT_BLIND', message: `the limit of ${WORDS[what]} cannot hold: ${why}` }
}

function allOf(tokens: Tokens | undefined): number {
  return (tokens?.input ?? 0) + (tokens?.output ?? 0)
}

/** How often to look at what is printed, in milliseconds: a reader may be far behind. */
const LOOK_MS = 100

/** Ends a process that passes a limit while it works, or that does not exit though its turn is over. */
export function turnGuard({
  limits,
  endAfter,
  stop,
}: {
  readonly limits: LimitCounter | undefined
  /** Milliseconds that the process may go on after its turn. @default no limit */
  readonly endAfter: number | undefined
  readonly stop: (reason: 'limit' | 'end_signal', note?: Note) => void
}) {
  /** The turn has ended, and nothing followed. */
  let isOver = false
  let lingers: NodeJS.Timeout | undefined
  let clock: NodeJS.Timeout | undefined
  const checkLimits = () => {
    const passed = isOver ? undefined : limits?.passed()
    if (passed) stop('limit', passed)
  }
  return {
    checkLimits,
    /** The process is about to be started. */
    begin() {
      // A log that cannot be looked at is told with the next read: thrown here, it would end the program.
      if (limits?.needsClock) clock = setInterval(() => orElse(checkLimits, undefined), LOOK_MS).unref()
    },
    /** The turn is over, or goes on. */
    turned(over: boolean) {
      isOver = over
      clearTimeout(lingers)
      if (over && endAfter !== undefined) lingers = setTimeout(() => stop('end_signal'), endAfter)
    },
    end() {
      clearTimeout(lingers)
      clearInterval(clock)
    },
  }
}

/**
 * Calls `onTimeout` when the time is up, and `onIdle` when the process wrote nothing for the idle time. What
 * counts is when it wrote, not when that was read: a slow reader must not look like a silent agent. Both
 * clocks stand still while the process waits for us.
 */
export function watchdog(options: {
  readonly timeout: number | undefined
  readonly idleTimeout: number | undefined
  /** In milliseconds since 1970. */
  readonly lastWrite: () => number
  /** How long the process has waited for us, and until when it did. @default it never waits */
  readonly waited?: (() => { readonly ms: number; readonly until: number }) | undefined
  readonly onTimeout: () => void
  readonly onIdle: () => void
}): { stop(): void } {
  const { timeout, idleTimeout, lastWrite, onTimeout, onIdle } = options
  const { waited = () => ({ ms: 0, until: 0 }) } = options
  const started = Date.now()
  const stops = [
    alarm(timeout, () => started + waited().ms, onTimeout),
    alarm(idleTimeout, () => Math.max(started, lastWrite(), waited().until), onIdle),
  ]
  return {
    stop() {
      for (const stop of stops) stop()
    },
  }
}

/** While the process waits, what is left of its time stays the same: it is not looked at more often. */
const MIN_DELAY = 20

/** Rings when this much time has passed since a moment that may move. */
function alarm(limit: number | undefined, since: () => number, ring: () => void): () => void {
  if (limit === undefined) return () => {}
  const look = () => {
    const left = limit - (Date.now() - since())
    if (left <= 0) ring()
    else timer = setTimeout(look, Math.max(left, MIN_DELAY))
  }
  let timer = setTimeout(look, limit)
  return () => clearTimeout(timer)
}
