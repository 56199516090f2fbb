// agent-sluice/web: the core over Web Streams, for browsers and edge workers. It uses nothing of Node.
export * from './core-exports.ts'
export * from './event-exports.ts'
export * from './event-stages.ts'
export type { WebFlow } from './streams/web.ts'
export { agUi, aiSdk, chat, events, frames, values } from './streams/web-flows.ts'
export * from './value-exports.ts'
export * from './value-stages.ts'
export { type AgUiBase, type AgUiEvent, type AgUiOptions, type AgUiUsage, agUiStage } from './views/ag-ui.ts'
export {
  type AiSdkChunk,
  type AiSdkData,
  type AiSdkMessageMetadata,
  type AiSdkMetadata,
  aiSdkStage,
} from './views/ai-sdk.ts'
