// Asking a model: the part that the root exports.
export type { Answer, AskRequest, Call as AskCall } from './ask/answer.ts'
export { ask } from './ask/ask.ts'
export type { DeepPartial, Snapshot } from './ask/attempts.ts'
export type { AskOptions, AttemptInfo } from './ask/options.ts'
export type { Failure, RetryPrompt } from './ask/retry-prompt.ts'
export { type Progress, type SnapshotOptions, type Snapshots, snapshots } from './ask/snapshots.ts'
