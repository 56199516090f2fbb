import { Fault, type Note, quote } from '../base/fault.ts'
import type { Delivery } from './audit.ts'
import { type LedgerEntry, within } from './ledger.ts'
import { digestOf, type Outbox, type Post } from './outbox.ts'
import type { Settled } from './settle.ts'

interface Done extends Settled {
  readonly issue_ref: string
  readonly run_id: string
  readonly comment?: string
}

/** What the outbox did and, if the run already has another result, the reason why this one does not count. */
export interface Delivered {
  readonly delivery: Delivery
  readonly late?: Note
  /** The state in the comment of the run, for the ledger; none if it has none, or is not from this work. */
  readonly reached?: LedgerEntry['state']
}

/**
 * Passes a settled run to the outbox.
 *
 * A crash can follow any step, and every step can be repeated: the outbox posts a run once, and the ledger
 * only changes while the run is still the active one. A comment that says needs-human is open: the next
 * result of the run, of a worker or of a person, replaces it. A comment with a status is final: a second,
 * different result is archived, and the ledger gets the state in the comment, because the attempt that posted
 * it may have been killed before it stored the state.
 *
 * `told` is what a comment for a human shows besides the result (exit, stderr): if that differs, it is
 * another comment.
 *
 * An archived result with a comment is that of the active run's own worker, which named another run: the
 * comment asks for a human, and the run is no longer active.
 *
 * A person whose result does not count (`byHand`) gets an error at once, so an open run keeps its comment.
 */
export async function deliver(
  done: Done,
  outbox: Outbox,
  options: {
    readonly byHand: boolean
    readonly maxOutboxWait: number
    readonly told?: unknown
  },
): Promise<Delivered> {
  const { issue_ref, run_id, verdict, claim, reasons } = done
  const state: LedgerEntry['state'] =
    verdict === 'advance' ? (done.result?.status ?? 'needs-human') : 'needs-human'
  // The content of the result, not the look of the comment: a changed template does not make a second result.
  const openHash = digestOf(['needs-human', claim, reasons, options.told ?? null])
  const closedHash = digestOf([verdict, claim, reasons.map(({ code }) => code)])
  const hash = verdict === 'advance' ? closedHash : openHash
  const comment = done.comment ?? ''
  const post: Post = { issue_ref, run_id, digest: `${hash}-${state}`, comment, work: done }
  const wait = <T>(ask: () => Promise<T>) => within(ask, 'the outbox', 'OUTBOX_FAILED', options.maxOutboxWait)
  if (verdict === 'archive') {
    await wait(() => outbox.archive({ ...post, digest: closedHash, comment: '' }))
    if (done.comment === undefined) return { delivery: 'archived' }
    const { delivery, posted } = await settleWith(outbox, post, hash, wait)
    const reached = delivery === 'archived' ? posted : state
    return { delivery: 'archived', ...(reached ? { reached } : {}) }
  }
  const keeps = options.byHand && verdict === 'needs-human'
  const { delivery, posted } = keeps
    ? await leaveOpen(outbox, post, wait)
    : await settleWith(outbox, post, hash, wait)
  if (delivery === 'none') return { delivery }
  const late = delivery === 'archived' ? twice(run_id, posted) : undefined
  if (late) {
    const work = { ...done, verdict: 'archive', reasons: [late, ...reasons] }
    await wait(() => outbox.archive({ ...post, work }))
  }
  const reached = late ? posted : state
  return { delivery, ...(late ? { late } : {}), ...(reached ? { reached } : {}) }
}

function twice(runId: string, state: string | undefined): Note {
  const comment = state === undefined ? 'a comment' : `a comment with the status ${state}`
  const message = `the run ${quote(runId)} has ${comment}, so this other result is archived`
  return { code: 'WORK_RESULT_TWICE', message }
}

interface Standing {
  readonly delivery: Delivery
  readonly posted?: LedgerEntry['state'] | undefined
}

type Wait = <T>(ask: () => Promise<T>) => Promise<T>

/** Posts nothing, and finds out whether the run is closed. */
async function leaveOpen(outbox: Outbox, post: Post, wait: Wait): Promise<Standing> {
  const standing = await wait(() => outbox.find(post))
  const posted = standing === undefined ? 'needs-human' : split(standing).state
  return posted === 'needs-human' ? { delivery: 'none' } : { delivery: 'archived', posted }
}

/** Posts, or finds out why not. Another process may post or replace at any time: then its comment is read. */
async function settleWith(outbox: Outbox, post: Post, hash: string, wait: Wait): Promise<Standing> {
  let standing = await wait(() => outbox.find(post))
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const found = standing === undefined ? undefined : split(standing)
    if (found?.hash === hash) return { delivery: 'already posted' }
    if (found && found.state !== 'needs-human') return { delivery: 'archived', posted: found.state }
    const ask = standing === undefined ? post : { ...post, replaces: standing }
    const now = await wait(() => outbox.post(ask))
    if (now === undefined) return { delivery: standing === undefined ? 'posted' : 'replaced' }
    // A tracker that cannot edit comments keeps the old one.
    if (now === standing) return { delivery: 'archived', posted: found?.state }
    standing = now
  }
  throw new Fault(
    'OUTBOX_FAILED',
    `the comment of ${quote(post.run_id)} changed ${MAX_TURNS} times meanwhile`,
  )
}

/** How often another process may be faster. */
const MAX_TURNS = 100

const states = ['ok', 'fail', 'blocked', 'needs-human'] as const satisfies readonly LedgerEntry['state'][]

/** The two parts of a digest. One that was edited, or has the old format, has no state. */
function split(digest: string): { hash: string; state: LedgerEntry['state'] | undefined } {
  // A third-party tracker may return anything.
  const [hash = '', ...rest] = typeof digest === 'string' ? digest.split('-') : []
  return { hash, state: states.find((state) => state === rest.join('-')) }
}
