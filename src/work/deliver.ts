import type { Delivery } from './audit.ts'
import { conclude, type Ledger, type LedgerEntry } from './ledger.ts'
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
 * run that has its comment is archived, and the ledger gets the state that stands in that comment: the attempt
 * that posted it may not have lived to note it.
 */
export async function deliver(
  done: Done,
  outbox: Outbox,
  options: { readonly ledger: Ledger | undefined; readonly maxOutboxWait: number },
): Promise<Delivery> {
  const { issue_ref, run_id, verdict, claim, reasons } = done
  const state: LedgerEntry['state'] =
    verdict === 'advance' ? (done.result?.status ?? 'needs-human') : 'needs-human'
  // What the result says, not how the comment looks: a changed template makes no second result.
  const hash = digestOf([verdict, claim, reasons.map(({ code }) => code)])
  const digest = verdict === 'archive' ? hash : `${hash}-${state}`
  const post: Post = { issue_ref, run_id, digest, comment: done.comment ?? '', work: done }
  const wait = <T>(ask: () => Promise<T>) => within(ask, 'the outbox', 'OUTBOX_FAILED', options.maxOutboxWait)
  if (verdict === 'archive') {
    await wait(() => outbox.archive(post))
    return 'archived'
  }
  const standing = (await wait(() => outbox.find(post))) ?? (await wait(() => outbox.post(post)))
  const posted = standing === undefined ? { hash, state } : split(standing)
  const same = posted.hash === hash
  if (!same) await wait(() => outbox.archive(post))
  const reached = same ? state : posted.state
  if (options.ledger && reached) await conclude(options.ledger, issue_ref, run_id, reached)
  if (!same) return 'archived'
  return standing === undefined ? 'posted' : 'already posted'
}

const states = ['ok', 'fail', 'blocked', 'needs-human'] as const satisfies readonly LedgerEntry['state'][]

/** The two parts of a digest. One that was edited, or is older than this rule, tells no state. */
function split(digest: string): { hash: string; state: LedgerEntry['state'] | undefined } {
  // A tracker of somebody else may answer with anything.
  const [hash = '', ...rest] = typeof digest === 'string' ? digest.split('-') : []
  return { hash, state: states.find((state) => state === rest.join('-')) }
}
