// Runs over NATS: the part that the root exports, which is only types.
export type { MirrorOptions, MirrorProgress } from './nats/mirror.ts'
export type { NatsLedger, NatsLedgerOptions } from './nats/nats-ledger.ts'
export type { NatsOptions, NatsTls } from './nats/nats-options.ts'
export type { ShipOptions, ShipProgress } from './nats/ship.ts'
export type { SubscribeOptions } from './nats/subscribe.ts'
