// The stages of events and conversations, the other engines by name, and functions that read an event.

export {
  acp,
  amp,
  cline,
  continue as continueCli,
  cursor,
  droid,
  grok,
  kilo,
  nanocoder,
  pi,
  text,
} from './engines/all-engines.ts'
export { isEvent } from './events/event.ts'
export { eventStage } from './events/event-stage.ts'
export { outcomeOf, outcomeWords } from './events/run-outcome.ts'
export { frameStage } from './frames/frames.ts'
export { chatStage } from './views/chat.ts'
