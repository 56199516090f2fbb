// Workers and their results: what the root has of them.
export type { Adapter } from './work/adapter.ts'
export type { Delivery, WorkAudit } from './work/audit.ts'
export type { Work } from './work/finish.ts'
export type { Ledger, LedgerEntry } from './work/ledger.ts'
export type { WorkOrder } from './work/order.ts'
export type { Outbox, Post, PostKey } from './work/outbox.ts'
export type { Repaired } from './work/repaired.ts'
export type { Claim, Status, WorkResult } from './work/result.ts'
export type { Found } from './work/result-file.ts'
export {
  type Evidence as WorkEvidence,
  type Settled,
  type Source,
  type Step,
  settle,
  type Verdict,
  type WorkExit,
} from './work/settle.ts'
export { type WorkOptions, work } from './work/work.ts'
