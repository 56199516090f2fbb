// agent-sluice/work: a worker of any kind, one result.
export * from './core-exports.ts'
export { adapters, findAdapter, type WorkerAdapter } from './work/adapter.ts'
export type { Delivery, WorkAudit } from './work/audit.ts'
export { commentTemplate } from './work/comment.ts'
export { activate, type Ledger, type LedgerEntry, ledger } from './work/ledger.ts'
export { brief, readOrder, type WorkOrder } from './work/order.ts'
export { type Outbox, type OutboxKey, type OutboxPost, outbox } from './work/outbox.ts'
export type { ClaimedResult, RepairedResult, WorkResult, WorkStatus } from './work/result.ts'
export type { FoundResult } from './work/result-file.ts'
export {
  type EvidenceSource,
  type SettledWork,
  type SettleStep,
  settle,
  type WorkEvidence,
  type WorkExit,
  type WorkVerdict,
} from './work/settle.ts'
export type { Work } from './work/settle-and-post.ts'
export { type WorkOptions, work } from './work/work.ts'
