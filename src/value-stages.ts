// The stages of payloads, to build your own stages and flows.
export { frameStage } from './frames/frames.ts'
export { outcomeStage, valueStage } from './values/values.ts'
