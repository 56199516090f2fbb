// Shared by all Node streams of this package.
export { type Flow, type FlowOptions, flow } from './streams/flow.ts'
export type { Items } from './streams/items.ts'
