import { join } from 'node:path'
import { type Fault, type Note, quote } from '../base/fault.ts'
import type { AuditPlace, Delivery, WorkAudit } from './audit.ts'
import { renderComment } from './comment.ts'
import { deliver } from './deliver.ts'
import { headerParser } from './headers.ts'
import { activeIn, conclude, type Ledger, type LedgerEntry } from './ledger.ts'
import type { WorkOrder } from './order.ts'
import type { Outbox } from './outbox.ts'
import { presence } from './result.ts'
import { type Evidence, type Settled, settle, type WorkExit } from './settle.ts'

/** The result of an order. */
export interface Work extends Settled {
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

/** What a worker, or a person, left. */
export interface Gathered {
  readonly worker: string
  readonly evidence: Evidence
  /** How the process ended; none if there was no process, because a person gave the result. */
  readonly exit?: WorkExit
  readonly started: Date
  readonly duration: number
  readonly bytes: { readonly stdout: number; readonly stderr: number }
  readonly place: AuditPlace | undefined
  /** The last lines of stderr. */
  readonly stderr?: string
}

export interface Ending {
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
  const settled: Settled = unread
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
  const done = {
    issue_ref,
    run_id,
    active_run_id: active,
    worker,
    ...settled,
    exit,
    ...(comment === undefined ? {} : { comment }),
    ...(auditFile ? { audit: auditFile } : {}),
  }
  if (!outbox) return { ...done, delivery: 'none' }
  const reported = { exit, stderr }
  const { delivery, late, reached } = await deliver(done, outbox, {
    byHand,
    maxOutboxWait,
    told: reported,
  }).catch(async (error: Fault) => {
    await audit?.write({ ...record, outbox: 'failed', failed: faultNote(error) })
    throw error
  })
  // The run keeps its comment, so a late result must not look as if it counted.
  const { comment: _, ...uncounted } = done
  const ended: Omit<Work, 'delivery'> = late
    ? { ...uncounted, verdict: 'archive', reasons: [late, ...settled.reasons] }
    : done
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

function sizeOf(found: Evidence['json']): number {
  return found?.state === 'read' ? found.bytes : 0
}
