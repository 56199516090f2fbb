import { join } from 'node:path'
import { EVENTS_FILE } from '../disk/journal.ts'
import { eachLine } from '../disk/read-journal.ts'
import { type Event, isEvent } from '../events/event.ts'
import { type Tokens, tokenCounter } from '../events/tokens.ts'

/** What each session has used, by its id. */
export type SessionTokens = Readonly<Record<string, Tokens>>

/** Adds up what the attempts of a run have used, by session. */
export class SpentTokens {
  readonly #spent: Map<string, Tokens>

  constructor(before: SessionTokens = {}) {
    this.#spent = new Map(Object.entries(before))
  }

  add(event: Event): void {
    const session = event.correlation.session_id
    if (!isEvent(event, 'lifecycle.completion.state') || session === undefined || !event.data.tokens) return
    const { tokens, cumulative } = event.data
    const sum = tokenCounter()
    const before = cumulative ? undefined : this.#spent.get(session)
    if (before) sum.add(before)
    sum.add(tokens)
    this.#spent.set(session, sum.sum() ?? tokens)
  }

  bySession(): SessionTokens {
    return Object.fromEntries(this.#spent)
  }
}

/** What the sessions of the attempts in a directory have used, as its journal says. */
export function spentIn(dir: string): SessionTokens {
  const spent = new SpentTokens()
  try {
    eachLine(join(dir, EVENTS_FILE), (line) => {
      if (line.includes(COMPLETION)) spent.add(JSON.parse(line.toString('utf8')))
    })
  } catch {
    // Without a journal that can be read the sum is told as it is, with `cumulative`.
  }
  return spent.bySession()
}

const COMPLETION = '"type":"lifecycle.completion.state"'
