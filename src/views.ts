// agent-sluice/views: the events of a run as others want to see them.
export * from './core-exports.ts'
export * from './view-exports.ts'
