// Payloads, without streams: the part that the root exports.

export type { Bad, Comment, Good, Outcome, RepairLevel } from './values/outcome.ts'
export { type ParseOptions, parse, tryParse } from './values/parse.ts'
export type { Pick } from './values/pick.ts'
export type { ProtoKeys } from './values/proto.ts'
export type { Schema, Value } from './values/schema/schema.ts'
export type { Normalizer, OutcomeOptions, ValuesOptions } from './values/values.ts'
export type { Scalar, Where } from './values/where/conditions.ts'
export type { Dropped } from './values/where/where.ts'
