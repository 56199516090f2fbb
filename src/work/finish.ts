import { join } from 'node:path'
import type { AuditPlace, Delivery, WorkAudit } from './audit.ts'
import { renderComment } from './comment.ts'
import { deliver } from './deliver.ts'
import { headerParser } from './headers.ts'
import { activeIn, type Ledger } from './ledger.ts'
import type { WorkOrder } from './order.ts'
import type { Outbox } from './outbox.ts'
import { presence } from './result.ts'
import { type Evidence, type Settled, settle, type WorkExit } from './settle.ts'

/** What became of an order. */
export interface Work extends Settled {
  readonly issue_ref: string
  readonly run_id: string
  readonly active_run_id: string
  readonly worker: string
  /** How the process of the worker ended; no code and no signal for a result given by hand. */
  readonly exit: WorkExit
  /** What the outbox did with it. */
  readonly delivery: Delivery
  /** The comment, as it is or would be posted; none for a result that is only archived. */
  readonly comment?: string
  /** Where `work_audit.json` is. */
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

/** Settles what was gathered for an order, writes the audit and hands the result over. */
export async function finish(order: WorkOrder, gathered: Gathered, ending: Ending): Promise<Work> {
  const { evidence, worker, place: audit, started, duration, stderr } = gathered
  const { ledger, outbox, activeRunId, maxOutboxWait } = ending
  const { issue_ref, run_id } = order
  const byHand = gathered.exit === undefined
  const exit = gathered.exit ?? { code: null, signal: null }
  const entry = activeRunId === undefined ? await ledger?.read(issue_ref) : undefined
  const active = activeRunId ?? activeIn(entry) ?? run_id
  const settled = settle(evidence, order, active)
  const auditFile = audit && join(audit.dir, 'work_audit.json')
  const comment =
    settled.verdict === 'archive'
      ? undefined
      : renderComment(settled, order, worker, ending.template, {
          exit: gathered.exit,
          stderr,
          audit: auditFile,
        })
  // A person whose result does not count is told at once; the comment that asks for one still says why.
  const writesBack = outbox !== undefined && !(byHand && settled.verdict === 'needs-human')
  const record: WorkAudit = {
    version: 'work-audit/1',
    parser: headerParser,
    issue_ref,
    run_id,
    active_run_id: active,
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
    outbox: writesBack ? 'pending' : 'none',
    events: audit && !byHand ? 'events.jsonl' : null,
  }
  // Written before the comment goes out, so that even a crash in between leaves its trace.
  await audit?.write(record)
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
  if (!writesBack) return { ...done, delivery: 'none' }
  try {
    const told = { exit, stderr }
    const { delivery, late } = await deliver(done, outbox, { ledger, maxOutboxWait, told })
    if (!late) {
      await audit?.write({ ...record, outbox: delivery })
      return { ...done, delivery }
    }
    // The run keeps its comment, so nothing of this result may say that it counts.
    const { comment: _, ...rest } = done
    const reasons = [late, ...settled.reasons]
    await audit?.write({ ...record, verdict: 'archive', reasons, outbox: delivery })
    return { ...rest, verdict: 'archive', reasons, delivery }
  } catch (error) {
    await audit?.write({ ...record, outbox: 'failed' })
    throw error
  }
}

function sizeOf(found: Evidence['json']): number {
  return found?.state === 'read' ? found.bytes : 0
}
