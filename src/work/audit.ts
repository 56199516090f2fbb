import { existsSync } from 'node:fs'
import { readFile, realpath, rename } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Fault, type Note } from '../base/fault.ts'
import { makeDir, writeWhole } from '../disk/durable.ts'
import { withLock } from '../disk/lock.ts'
import type { headerParser } from './headers.ts'
import type { EvidenceSource, SettleStep, WorkExit, WorkVerdict } from './settle.ts'

/** The content of `work_audit.json`: how a verdict came about. */
export interface WorkAudit {
  readonly version: 'work-audit/1'
  readonly parser: typeof headerParser
  readonly issue_ref: string
  readonly run_id: string
  /** The run that was active when the result was settled; null if the ledger could not be read. */
  readonly active_run_id: string | null
  readonly worker: string
  readonly started_at: string
  readonly ended_at: string
  readonly duration_ms: number
  readonly exit: WorkExit
  /** Where the result was found: in `work_result.json`, `work_result.txt`, the last message, the output. */
  readonly encoding: EvidenceSource | 'none'
  /** The places that were looked at for a result, in order, and what was found there. */
  readonly path: readonly SettleStep[]
  readonly verdict: WorkVerdict
  readonly reasons: readonly Note[]
  readonly notes: readonly Note[]
  readonly bytes: Readonly<Record<'stdout' | 'stderr' | 'json' | 'text', number>>
  /** Which fields the worker's claim has: `{ issue_ref: true, status: false, … }`. */
  readonly fields: Readonly<Record<string, boolean>>
  /** What the outbox did with the comment; `pending` if the process died before that was known. */
  readonly outbox: Delivery | 'pending' | 'failed'
  /** The fault of the outbox or the ledger that ended the work, if one did. The work can be settled again. */
  readonly failed?: Note
  /** The events of the run, next to this file. */
  readonly events: string | null
}

/** Whether a result was posted now or before, replaced a comment, was archived, or had no outbox. */
export type Delivery = 'posted' | 'replaced' | 'already posted' | 'archived' | 'none'

export type WorkAuditPlace = Awaited<ReturnType<typeof openWorkAudit>>

/** Resolves the directory before the worker starts: later it may be a link to another place. */
export async function openWorkAudit(dir: string) {
  let mine: string | undefined
  try {
    makeDir(dir)
  } catch (error) {
    auditFailed(error)
  }
  const fixed = await realpath(dir).catch(auditFailed)
  const path = join(fixed, 'work_audit.json')
  return {
    dir: fixed,
    async write(audit: WorkAudit): Promise<void> {
      if ((await realpath(resolve(dir)).catch(auditFailed)) !== fixed) auditFailed(new Error('it was moved'))
      const text = `${JSON.stringify(audit, null, 2)}\n`
      // Another start of the same run, or a person with its result, may write here at the same time.
      await withLock(join(fixed, 'work_audit.lock'), async () => {
        if (mine === undefined) await setAside(fixed, path)
        await writeWhole(mine === undefined ? path : await pathFor(fixed, path, mine), text)
        mine = text
      }).catch(auditFailed)
    },
  }
}

/** Keeps the audit of an earlier attempt as `work_audit.1.json`, `work_audit.2.json`, … */
async function setAside(dir: string, path: string): Promise<void> {
  if (!existsSync(path)) return
  for (let attempt = 1; ; attempt++) {
    const older = join(dir, `work_audit.${attempt}.json`)
    if (!existsSync(older)) return rename(path, older)
  }
}

/** The path of an audit that another start may have set aside since. */
async function pathFor(dir: string, path: string, text: string): Promise<string> {
  let older = path
  for (let attempt = 1; existsSync(older); attempt++) {
    if ((await readFile(older, 'utf8')) === text) return older
    older = join(dir, `work_audit.${attempt}.json`)
  }
  return path
}

function auditFailed(error: unknown): never {
  throw new Fault('AUDIT_FAILED', 'the audit of the work cannot be written', { cause: error })
}
