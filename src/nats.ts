// agent-sluice/nats: runs of many hosts, over NATS JetStream.
export * from './core-exports.ts'
export type { AgentEvent } from './events/event.ts'
export { type MirrorOptions, type MirrorProgress, mirror } from './nats/mirror.ts'
export type { NatsOptions, NatsTls } from './nats/nats-connection.ts'
export { type NatsLedger, type NatsLedgerOptions, natsLedger } from './nats/nats-ledger.ts'
export { type ShipOptions, type ShipProgress, ship } from './nats/ship.ts'
export { type SubscribeOptions, subscribe } from './nats/subscribe.ts'
export type { Flow, FlowOptions, ReadableItems } from './streams/flow.ts'
