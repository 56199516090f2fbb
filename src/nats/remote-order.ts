import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../base/fault.ts'
import { isRecord } from '../events/engine.ts'
import { jsonValue } from '../json/strict.ts'
import { type Order, refused } from '../run/orders.ts'
import type { Broker, RunName } from './broker.ts'

/** What a shipper answers to an order. `given`: it is in the orders of the run; false if it was before. */
export type OrderAnswer = { readonly given: boolean } | { readonly why: string }

/** How long to try to reach a host: it, the broker or this process may just have been started again. */
const TRY_MS = 8000
const RETRY_MS = 200

/**
 * Gives an order to a run of another host, as `giveOrder` does to one of this machine. The host is asked
 * until it answers: the id of the order sees to it that the run gets it once. Throws BROKER_FAILED if it does
 * not.
 */
export async function giveRemote(broker: Broker, name: RunName, order: Order): Promise<boolean> {
  const text = Buffer.from(JSON.stringify(order))
  const until = performance.now() + TRY_MS
  for (let isUnheard = true; ; await delay(RETRY_MS)) {
    try {
      const answer = await broker.order(name, text)
      if (answer) return isGiven(answer, isUnheard)
    } catch (error) {
      if (Fault.is(error)) throw error
      // It may have arrived, and the answer was lost.
      isUnheard = false
    }
    if (performance.now() > until) throw notHeard(isUnheard)
  }
}

function isGiven(answer: Uint8Array, isFirst: boolean): boolean {
  const told = jsonValue(Buffer.from(answer).toString())
  if (isRecord(told) && typeof told['given'] === 'boolean') return told['given'] || !isFirst
  throw refused(isRecord(told) ? String(told['why']) : 'its host gave no answer that can be read')
}

function notHeard(isUnheard: boolean): Fault {
  const why = isUnheard
    ? 'the order was not delivered: its host passes on no orders now (sluice ship --control)'
    : `its host did not answer in ${TRY_MS / 1000} s; if the order was delivered all the same, the run tells it`
  return new Fault('BROKER_FAILED', why)
}
