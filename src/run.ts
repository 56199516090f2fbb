// agent-sluice/run: runs agents, records them and replays the recordings.
export * from './cache-exports.ts'
export * from './core-exports.ts'
export * from './event-exports.ts'
export { resume } from './run/resume.ts'
export * from './run-exports.ts'
export * from './stream-exports.ts'
