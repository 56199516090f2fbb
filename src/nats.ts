// agent-sluice/nats: runs of many hosts, over NATS JetStream.
export * from './core-exports.ts'
export type { Event } from './events/event.ts'
export { mirror } from './nats/mirror.ts'
export { natsLedger } from './nats/nats-ledger.ts'
export { ship } from './nats/ship.ts'
export { subscribe } from './nats/subscribe.ts'
export * from './nats-exports.ts'
export * from './stream-exports.ts'
