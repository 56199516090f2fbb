// agent-sluice/work: a worker of any kind, one result.
export * from './core-exports.ts'
export { type Adapter, adapters, findAdapter } from './work/adapter.ts'
export type { Delivery, WorkAudit } from './work/audit.ts'
export { commentTemplate } from './work/comment.ts'
export type { Work } from './work/finish.ts'
export { activate, type Ledger, type LedgerEntry, ledger } from './work/ledger.ts'
export { brief, readOrder, type WorkOrder } from './work/order.ts'
export { type Outbox, outbox, type Post, type PostKey } from './work/outbox.ts'
export type { Claim, Repaired, Status, WorkResult } from './work/result.ts'
export type { FoundResult } from './work/result-file.ts'
export {
  type EvidenceSource,
  type Settled,
  type SettleStep,
  settle,
  type Verdict,
  type WorkEvidence,
  type WorkExit,
} from './work/settle.ts'
export { type WorkOptions, work } from './work/work.ts'
