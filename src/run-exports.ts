// Running agents and reading runs again: the part that the root exports.
export type { Meta, StopReason } from './run/meta.ts'
export { type ReplayOptions, replay } from './run/replay.ts'
export type { Resumed } from './run/resume.ts'
export { type Run, type RunCommand, type RunEnd, type RunOptions, run } from './run/run.ts'
export { type Exit, type TapOptions, type TapSources, tap } from './streams/tap.ts'
export type { FetchedBody, PlainSource } from './streams/tap-source.ts'
