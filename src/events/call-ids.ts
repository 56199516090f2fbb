import type { CallFacts } from './engine.ts'
import { memory } from './memory.ts'

/** Open calls without an id to remember. */
const MAX_WITHOUT_ID = 1024

/** The calls that are open, and ids for those that the engine gives none. */
export class CallIds {
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
    if (of.id !== '' && (starts || this.#calls.get(of.id) !== undefined)) return of
    const open = this.#withoutId
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
