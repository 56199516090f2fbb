// agent-sluice/work: a worker of any kind, one result.
export * from './core-exports.ts'
export { adapters, findAdapter } from './work/adapter.ts'
export { brief } from './work/brief.ts'
export { commentTemplate } from './work/comment.ts'
export { activate, ledger } from './work/ledger.ts'
export { readOrder } from './work/order.ts'
export { outbox } from './work/outbox.ts'
export * from './work-exports.ts'
