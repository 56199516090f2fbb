import { Fault } from '../base/fault.ts'
import type { Delivery } from './audit.ts'
import { conclude, type Ledger } from './ledger.ts'
import { digestOf, type Outbox, type Post } from './outbox.ts'
import type { Settled } from './settle.ts'

interface Done extends Settled {
  readonly issue_ref: string
  readonly run_id: string
  readonly comment?: string
}

/**
 * Hands a settled run to the outbox and notes its state in the ledger.
 *
 * Every step may be the last one before a crash, and every step can be taken again: the outbox posts a run
 * once, and the ledger only moves while the run is still the active one. A second, different result of a
 * run that has its comment is archived.
 */
export async function deliver(
  done: Done,
  outbox: Outbox,
  options: { readonly ledger?: Ledger | undefined; readonly maxOutboxWait?: number | undefined },
): Promise<Delivery> {
  const { issue_ref, run_id, verdict, claim, reasons } = done
  // What the result says, not how the comment looks: a changed template makes no second result.
  const digest = digestOf([verdict, claim, reasons.map(({ code }) => code)])
  const post: Post = { issue_ref, run_id, digest, comment: done.comment ?? '', work: done }
  const wait = <T>(ask: () => Promise<T>): Promise<T> => within(ask, options.maxOutboxWait ?? 60_000)
  if (verdict === 'archive') {
    await wait(() => outbox.archive(post))
    return 'archived'
  }
  const standing = (await wait(() => outbox.find(post))) ?? (await wait(() => outbox.post(post)))
  if (standing !== undefined && standing !== digest) {
    await wait(() => outbox.archive(post))
    return 'archived'
  }
  const state = verdict === 'advance' ? (done.result?.status ?? 'needs-human') : 'needs-human'
  if (options.ledger) await conclude(options.ledger, issue_ref, run_id, state)
  return standing === undefined ? 'posted' : 'already posted'
}

/** An outbox of somebody else may throw anything, or never answer. */
async function within<T>(ask: () => Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Fault('OUTBOX_FAILED', `the outbox did not answer in ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([ask(), late])
  } catch (error) {
    if (Fault.is(error)) throw error
    throw new Fault('OUTBOX_FAILED', 'the outbox failed', { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
