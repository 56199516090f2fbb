// What the doors of Node share.
export { type Flow, type FlowOptions, flow } from './streams/flow.ts'
export type { Items } from './streams/items.ts'
