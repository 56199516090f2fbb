import fs from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { badOption, quote } from '../../base/fault.ts'
import { LOCK_FILE } from '../../disk/journal.ts'
import { isLocked } from '../../disk/lock.ts'
import { giveOrder, orderedRun, readOrder, refused, takesOrders } from '../../run/orders.ts'
import { AUDITS, fixedDir } from '../../run/run-directory.ts'
import { signalAgent } from '../../run/signal-agent.ts'
import { AskedRequests } from '../../serve/asked-requests.ts'
import { auditPlace } from '../../serve/run-place.ts'
import { safe } from '../draw/safe.ts'
import { exits } from '../exit-codes.ts'

/** The run that `--last` means to a command that takes the directory of one. */
export const LATEST = `${AUDITS}/latest`

export interface LatestFlags {
  readonly last?: boolean
}

/** The directory of the run that a command is about. */
export function recordedDir(given: string | undefined, { last }: LatestFlags): string {
  if (last && given !== undefined)
    throw badOption('--last finds the run itself; leave out the directory, or --last')
  if (!last && given === undefined)
    throw badOption('the directory of the run is missing; name it, or add --last for the newest one')
  if (last && !fs.existsSync(LATEST))
    throw badOption(`there is no last run: no ${LATEST} here; name the directory of the run`)
  // Once: the link may point to another run a moment later.
  return fixedDir(given ?? LATEST)
}

/** How long to wait for a run to tell what became of an order. */
const TOLD_MS = 30_000
const LOOK_MS = 50

/** Orders a run to stop, or its turn; the agent of a run that takes no orders gets a signal instead. */
export async function orderOrSignal(
  dir: string,
  order: { readonly do: 'interrupt' | 'stop'; readonly now?: boolean },
  signal: NodeJS.Signals,
): Promise<number> {
  const run = orderedRun(dir)
  if (run && takesOrders(run)) return await giveAndWait(dir, order)
  await signalAgent(dir, signal, order.do === 'stop')
  return exits.good
}

/** Gives an order to the run in a directory, waits until it is told what became of it, and says that. */
export async function giveAndWait(path: string, given: object): Promise<number> {
  const dir = fs.realpathSync(fixedDir(path))
  const run = orderedRun(dir)
  if (!run)
    throw refused(`${quote(path, 200)} takes no orders: it has ended, or was started without --control`)
  const order = readOrder(given, 'terminal')
  giveOrder(run, order)
  const requests = new AskedRequests()
  const place = auditPlace(dir, dir)
  const told = async () => (await requests.of(place)).orders.get(order.id)
  try {
    const until = Date.now() + TOLD_MS
    let result = await told()
    while (result === undefined && isLocked(`${dir}/${LOCK_FILE}`) && Date.now() < until) {
      await delay(LOOK_MS)
      result = await told()
    }
    result ??= await told()
    if (result === 'done') return exits.good
    const late = isLocked(`${dir}/${LOCK_FILE}`)
      ? 'the run has not told yet'
      : 'it was not delivered: the run has ended'
    console.error(safe(`sluice: ${result === undefined ? late : `refused: ${result}`}`))
    return exits.failed
  } finally {
    requests.close()
  }
}
