// The stages of payloads, for stages and flows of your own.
export { frameStage } from './frames/frames.ts'
export { outcomeStage, valueStage } from './values/values.ts'
