import type { Delivery } from './audit.ts'
import { conclude, type Ledger } from './ledger.ts'
import { digestOf, type Outbox, type Post } from './outbox.ts'
import type { Settled } from './settle.ts'
import { within } from './within.ts'

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
  options: { readonly ledger: Ledger | undefined; readonly maxOutboxWait: number },
): Promise<Delivery> {
  const { issue_ref, run_id, verdict, claim, reasons } = done
  // What the result says, not how the comment looks: a changed template makes no second result.
  const digest = digestOf([verdict, claim, reasons.map(({ code }) => code)])
  const post: Post = { issue_ref, run_id, digest, comment: done.comment ?? '', work: done }
  const wait = <T>(ask: () => Promise<T>) => within(ask, 'the outbox', 'OUTBOX_FAILED', options.maxOutboxWait)
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
