/** Calls that may be open at once; another one forgets the oldest. */
const MAX_OPEN = 4096

/**
 * The calls that have started and not ended, the oldest first, with what a view remembers of each. Some
 * engines report only the end of a call, and others lose it: both are the view's to answer.
 */
export class OpenCalls<T> {
  readonly #open = new Map<string, T>()

  find(id: string): T | undefined {
    return this.#open.get(id)
  }

  all(): T[] {
    return [...this.#open.values()]
  }

  /** Opens a call. Returns those that are forgotten: one with this id, whose end was lost, and the oldest. */
  start(id: string, call: T): T[] {
    const [oldest] = this.#open.size >= MAX_OPEN ? this.#open.keys() : []
    const lost = [oldest ?? id, id].flatMap((key) => this.end(key) ?? [])
    this.#open.set(id, call)
    return lost
  }

  /** Closes a call. Undefined if its start was not reported. */
  end(id: string): T | undefined {
    const call = this.#open.get(id)
    this.#open.delete(id)
    return call
  }

  /** Closes all, because the attempt has ended. */
  takeAll(): T[] {
    const all = this.all()
    this.#open.clear()
    return all
  }
}
