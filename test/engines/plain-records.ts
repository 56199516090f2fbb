/** What a run said and did, read from its log by a few plain loops that know nothing of the engines. */
export interface Reading {
  /** Complete messages, and those that broke off. */
  readonly messages: readonly string[]
  readonly broken: readonly string[]
  readonly reasoning: readonly string[]
  /** Name and end of each call, in the order they began. */
  readonly tools: readonly string[]
  readonly session: string | null
  readonly end: string
}

/** What a run wrote, and its exit code; `null` means a signal. */
export interface Written {
  readonly stdout: string
  readonly stderr: string
  readonly exit: number | null
}

// biome-ignore lint/suspicious/noExplicitAny: these loops read logs that only the recordings describe
export type Json = any

/** What a log says of its end: well, badly, broken off in mid-record, or nothing. */
type Told = boolean | 'cut' | undefined

export function endOf(messages: readonly string[], told: Told, exit: number | null): string {
  if (messages.some((message) => /"__SKILL_DONE__": ?true/.test(message))) return 'completed'
  if (told === true) return 'awaiting_user_input'
  return told === false || told === 'cut' || exit !== 0 ? 'interrupted' : 'unknown'
}

/** The JSON lines of a log; other lines are left out. */
export function recordsOf(stdout: string): Json[] {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .flatMap((line) => {
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })
}

/** Calls by id, in the order they began; `open` until they end. */
export class Calls {
  readonly #all: { id: unknown; name: string; end: string }[] = []

  begin(id: unknown, name: string): void {
    this.#all.push({ id, name, end: 'open' })
  }

  end(id: unknown, good: boolean, name = 'tool'): void {
    let call = this.#all.find((one) => one.id === id && one.end === 'open')
    if (!call) {
      call = { id, name, end: 'open' }
      this.#all.push(call)
    }
    call.end = good ? 'completed' : 'failed'
  }

  told(): string[] {
    return this.#all.map(({ name, end }) => `${name} ${end}`)
  }
}

/** What a terminal showed, as a pipe would have had it. */
export function fromTerminal(pty: string): string {
  return pty.replace(/\r+\n/g, '\n').replace(/^Script (started|done) on .*\n/gm, '')
}
