import { relative, sep } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../base/fault.ts'
import { isRecord } from '../events/engine.ts'
import { jsonValue } from '../json/strict.ts'
import { refused } from '../run/orders.ts'
import type { OrderDoor } from '../serve/control.ts'
import type { Broker } from './broker.ts'

/** What a shipper answers to an order. `given`: it is in the orders of the run; false if it was before. */
export type OrderAnswer = { readonly given: boolean } | { readonly why: string }

/** How long to try to reach a host: it, the broker or this server may just have been started again. */
const TRY_MS = 8000
const RETRY_MS = 200

/**
 * Gives orders to runs of other hosts, which are mirrored into `dir`, a real path. The host is asked until it
 * answers: the id of the order sees to it that the run gets it once.
 */
export function remoteDoor(
  broker: Broker,
  dir: string,
  takes: (tenant: string, run: string) => boolean,
): OrderDoor {
  const nameOf = (path: string) => {
    const [tenant = '', run = ''] = relative(dir, path).split(sep)
    return { tenant, run }
  }
  return {
    takes(place) {
      const { tenant, run } = nameOf(place.key)
      return takes(tenant, run)
    },
    async give(place, order) {
      const text = Buffer.from(JSON.stringify(order))
      const until = performance.now() + TRY_MS
      for (let isUnheard = true; ; await delay(RETRY_MS)) {
        try {
          const answer = await broker.order(nameOf(place.key), text)
          if (answer) return isGiven(answer, isUnheard)
        } catch (error) {
          if (Fault.is(error)) throw error
          // It may have arrived, and the answer was lost.
          isUnheard = false
        }
        if (performance.now() > until) throw notHeard(isUnheard)
      }
    },
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
