import { clip, orElse } from '../base/fault.ts'
import { watchPath } from '../disk/wake.ts'
import type { ToldOrder } from '../text/chunk.ts'
import type { NoOrder, Order, Orders } from './orders.ts'

interface DeskOptions {
  /** Does an order, or returns why not. */
  readonly act: (order: Order) => string | undefined
  /** Records that an order is about to be done, or what became of it. False if it cannot be recorded. */
  readonly tell: (when: 'taken' | 'control', order: ToldOrder) => boolean
}

/** How often to look for orders without a watcher. */
const POLL_MS = 200
/** Characters of the reason why an order was not done. */
const MAX_WHY = 500

/** Takes the orders of a run: each is recorded before it is done, and what became of it after that. */
export class OrderDesk {
  readonly #orders: Orders
  readonly #options: DeskOptions
  #unwatch = () => {}

  constructor(orders: Orders, options: DeskOptions) {
    this.#orders = orders
    this.#options = options
  }

  open(): void {
    const look = () => this.#obey(this.#orders.next())
    const watcher = watchPath(this.#orders.path, look)
    const timer = setInterval(look, POLL_MS)
    this.#unwatch = () => {
      watcher?.close()
      clearInterval(timer)
    }
    look()
  }

  /** No more orders: those that came too late are told so. */
  close(): void {
    this.#unwatch()
    this.#obey(this.#orders.close())
  }

  /** This program ends: nobody can be told any more. */
  abandon(): void {
    orElse(() => this.#orders.close(), undefined)
  }

  #obey(orders: readonly (Order | NoOrder)[]): void {
    const { tell } = this.#options
    for (const order of orders) {
      const { id } = order
      if (!('do' in order)) {
        tell('control', { id, do: 'unknown', by: 'unknown', result: 'refused', why: order.why })
        continue
      }
      const head = { id, do: order.do, by: order.by }
      if (!tell('taken', { ...head, result: 'unknown' })) return
      const why = this.#do(order)
      tell('control', { ...head, ...(why === undefined ? { result: 'done' } : { result: 'refused', why }) })
    }
  }

  #do(order: Order): string | undefined {
    try {
      return this.#options.act(order)
    } catch (error) {
      return clip((error as Error).message, MAX_WHY) // cast: only errors are thrown here
    }
  }
}
