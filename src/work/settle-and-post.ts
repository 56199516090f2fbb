import { join } from 'node:path'
import { defined } from '../base/check-options.ts'
import { Fault, type Note, quote } from '../base/fault.ts'
import { digestOf } from '../disk/cache.ts'
import type { Delivery, WorkAudit, WorkAuditPlace } from './audit.ts'
import { renderComment } from './comment.ts'
import { headerParser } from './headers.ts'
import { activeIn, conclude, endStates, type Ledger, type LedgerEntry, within } from './ledger.ts'
import type { WorkOrder } from './order.ts'
import type { Outbox, OutboxPost } from './outbox.ts'
import { presence } from './result.ts'
import { type SettledWork, settle, type WorkEvidence, type WorkExit } from './settle.ts'

/** What `work()` returns: the verdict on the run, and what became of its comment. */
export interface Work extends SettledWork {
  readonly issue_ref: string
  readonly run_id: string
  readonly active_run_id: string
  readonly worker: string
  /** How the worker's process ended; no code and no signal for a result given by a person. */
  readonly exit: WorkExit
  /** What the outbox did with it. */
  readonly delivery: Delivery
  /**
   * The comment that is or would be posted; none for a result that is only archived. If the worker of the
   * active run named another run, its result is archived, and this comment asks for a human.
   */
  readonly comment?: string
  /** The path of `work_audit.json`. */
  readonly audit?: string
}

export interface Gathered {
  readonly worker: string
  readonly evidence: WorkEvidence
  /** How the process ended; none if there was no process, because a person gave the result. */
  readonly exit?: WorkExit
  /** What went wrong in it, in one sentence. */
  readonly problem?: string | undefined
  readonly started: Date
  readonly duration: number
  readonly bytes: { readonly stdout: number; readonly stderr: number }
  readonly place: WorkAuditPlace | undefined
  /** The last lines of stderr. */
  readonly stderr?: string
}

interface Ending {
  readonly template: string
  readonly ledger: Ledger | undefined
  readonly outbox: Outbox | undefined
  readonly activeRunId: string | undefined
  readonly maxOutboxWait: number
}

/** Settles what was gathered for an order, writes the audit and delivers the result. */
export async function finish(order: WorkOrder, gathered: Gathered, ending: Ending): Promise<Work> {
  const { evidence, worker, place: audit, started, duration, stderr } = gathered
  const { ledger, outbox, activeRunId, maxOutboxWait } = ending
  const { issue_ref, run_id } = order
  const byHand = gathered.exit === undefined
  const exit = gathered.exit ?? { code: null, signal: null }
  const { entry, unread } = await lookUp(ledger, issue_ref)
  const active = activeRunId ?? activeIn(entry) ?? run_id
  const found = settle(evidence, order, active)
  // Without the ledger the active run is unknown, so nothing may count.
  const settled: SettledWork = unread
    ? { ...found, verdict: 'needs-human', reasons: [faultNote(unread), ...found.reasons] }
    : found
  const auditFile = audit && join(audit.dir, 'work_audit.json')
  // A worker of the active run that names another run leaves that run without a result: a human must know.
  const lost = settled.verdict === 'archive' && run_id === active && !byHand
  const comment =
    settled.verdict === 'archive' && !lost
      ? undefined
      : renderComment(settled, order, worker, ending.template, {
          exit: gathered.exit,
          problem: gathered.problem,
          stderr,
          audit: auditFile,
        })
  const record: WorkAudit = {
    version: 'work-audit/1',
    parser: headerParser,
    issue_ref,
    run_id,
    active_run_id: unread ? (activeRunId ?? null) : active,
    worker,
    started_at: started.toISOString(),
    ended_at: new Date(started.getTime() + duration).toISOString(),
    duration_ms: duration,
    exit,
    encoding: settled.source ?? 'none',
    path: settled.tried,
    verdict: settled.verdict,
    reasons: settled.reasons,
    notes: settled.notes,
    bytes: { ...gathered.bytes, json: sizeOf(evidence.json), text: sizeOf(evidence.text) },
    fields: presence(settled.claim),
    outbox: outbox && !unread ? 'pending' : 'none',
    events: audit && !byHand ? 'events.jsonl' : null,
    ...(unread ? { failed: faultNote(unread) } : {}),
  }
  // Written before the comment is posted, so that even a crash in between leaves a trace.
  await audit?.write(record)
  if (unread) throw unread
  const done: Done = {
    issue_ref,
    run_id,
    active_run_id: active,
    worker,
    ...settled,
    exit,
    ...defined({ comment, audit: auditFile }),
  }
  if (!outbox) return { ...done, delivery: 'none' }
  const told = { exit, stderr }
  const { delivery, late, reached } = await deliver(done, outbox, { byHand, maxOutboxWait, told }).catch(
    async (error: Fault) => {
      await audit?.write({ ...record, outbox: 'failed', failed: faultNote(error) })
      throw error
    },
  )
  // The run keeps its comment, so a late result must not look as if it counted.
  const { comment: _, ...uncounted } = done
  const ended: Done = late ? { ...uncounted, verdict: 'archive', reasons: [late, ...settled.reasons] } : done
  const final = { ...record, verdict: ended.verdict, reasons: ended.reasons, outbox: delivery }
  try {
    if (ledger && reached) await conclude(ledger, issue_ref, run_id, reached)
  } catch (error) {
    // The outbox has done its part, and the next attempt stores the state.
    // cast: `boundedLedger` throws only Faults
    await audit?.write({ ...final, failed: faultNote(error as Fault) })
    throw error
  }
  await audit?.write(final)
  return { ...ended, delivery }
}

/** The entry of an issue, or why it cannot be read: the audit must record that before the work fails. */
async function lookUp(
  ledger: Ledger | undefined,
  issueRef: string,
): Promise<{ entry?: LedgerEntry | undefined; unread?: Fault }> {
  try {
    return { entry: await ledger?.read(issueRef) }
  } catch (error) {
    return { unread: error as Fault } // cast: `within` throws only Faults
  }
}

/** What failed and why, for the audit. */
function faultNote({ code, message, cause }: Fault): Note {
  return { code, message: cause instanceof Error ? `${message}: ${quote(cause.message, 200)}` : message }
}

function sizeOf(found: WorkEvidence['json']): number {
  return found?.state === 'read' ? found.bytes : 0
}

type Done = Omit<Work, 'delivery'>

/** What the outbox did and, if the run already has another result, the reason why this one does not count. */
interface Delivered {
  readonly delivery: Delivery
  readonly late?: Note | undefined
  /** The state in the comment of the run, for the ledger; none if it has none, or is not from this work. */
  readonly reached?: LedgerEntry['state'] | undefined
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
 * `told` is what a comment also shows a human (exit, stderr): if that differs, it is another comment.
 *
 * An archived result with a comment is that of the active run's own worker, which named another run: the
 * comment asks for a human, and the run is no longer active.
 *
 * A person whose result does not count (`byHand`) gets an error at once, so an open run keeps its comment.
 */
async function deliver(
  done: Done,
  outbox: Outbox,
  { byHand, maxOutboxWait, told }: { byHand: boolean; maxOutboxWait: number; told: object },
): Promise<Delivered> {
  const { issue_ref, run_id, verdict, claim, reasons } = done
  const state = (verdict === 'advance' && done.result?.status) || 'needs-human'
  // The content of the result, not the look of the comment: a changed template does not make a second result.
  const openHash = digestOf(['needs-human', claim, reasons, told])
  const closedHash = digestOf([verdict, claim, reasons.map(({ code }) => code)])
  const hash = verdict === 'advance' ? closedHash : openHash
  const comment = done.comment ?? ''
  const post: OutboxPost = { issue_ref, run_id, digest: `${hash}-${state}`, comment, work: done }
  const wait = <T>(ask: () => Promise<T>) => within(ask, 'the outbox', 'OUTBOX_FAILED', maxOutboxWait)
  if (verdict === 'archive') {
    await wait(() => outbox.archive({ ...post, digest: closedHash, comment: '' }))
    if (done.comment === undefined) return { delivery: 'archived' }
    const { delivery, posted } = await settleWith(outbox, post, hash, wait)
    return { delivery: 'archived', reached: delivery === 'archived' ? posted : state }
  }
  const { delivery, posted } =
    byHand && verdict === 'needs-human'
      ? await leaveOpen(outbox, post, wait)
      : await settleWith(outbox, post, hash, wait)
  if (delivery === 'none') return { delivery }
  const late = delivery === 'archived' ? twice(run_id, posted) : undefined
  if (late) {
    const work = { ...done, verdict: 'archive', reasons: [late, ...reasons] }
    await wait(() => outbox.archive({ ...post, work }))
  }
  return { delivery, late, reached: late ? posted : state }
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
async function leaveOpen(outbox: Outbox, post: OutboxPost, wait: Wait): Promise<Standing> {
  const standing = await wait(() => outbox.find(post))
  const posted = standing === undefined ? 'needs-human' : split(standing).state
  return posted === 'needs-human' ? { delivery: 'none' } : { delivery: 'archived', posted }
}

/** Posts, or finds out why not. Another process may post or replace at any time: then its comment is read. */
async function settleWith(outbox: Outbox, post: OutboxPost, hash: string, wait: Wait): Promise<Standing> {
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

/** The two parts of a digest. One that was edited, or has the old format, has no state. */
function split(digest: string): { hash: string; state: LedgerEntry['state'] | undefined } {
  // A third-party tracker may return anything.
  const [hash = '', ...rest] = typeof digest === 'string' ? digest.split('-') : []
  return { hash, state: endStates.find((state) => state === rest.join('-')) }
}
