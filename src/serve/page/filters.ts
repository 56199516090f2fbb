import type { Item } from '../../views/conversation.ts'

/** The kinds of items a reader can select, in the order of their keys. */
export const filters = ['messages', 'tools', 'failed', 'files', 'warnings', 'raw'] as const

export type Filter = (typeof filters)[number]

export function belongs(item: Item, filter: Filter): boolean {
  switch (filter) {
    case 'messages':
      return item.kind === 'message' || item.kind === 'prompt' || item.kind === 'reasoning'
    case 'tools':
      return item.kind === 'tool' || item.kind === 'request'
    case 'failed':
      return item.problem !== undefined
    case 'files':
      return item.kind === 'artifact'
    case 'warnings':
      return item.kind === 'diagnostic'
    case 'raw':
      return item.kind === 'raw' || item.kind === 'status'
  }
}

/** Notes of the parser, and steps that every run has, are hidden until the reader selects them. */
export function isShown(item: Item, chosen: ReadonlySet<Filter>): boolean {
  if (chosen.size === 0) return item.problem !== undefined || !isQuiet(item)
  for (const filter of chosen) if (belongs(item, filter)) return true
  return false
}

/** Raw lines of less confidence are not records of the engine. */
const KNOWN = 0.5

function isQuiet(item: Item): boolean {
  // An answer is shown with its request.
  if (item.kind === 'status')
    return !/retry|interrupt|compact|control/.test(item.status) || item.reason === 'answer done'
  // What was sent to the agent is shown as prompts and answers. An agent also prints records that its engine
  // knows, and that say nothing to a reader.
  if (item.kind === 'raw')
    return (
      item.stream === 'stdin' || (item.confidence > KNOWN && item.lines.every((line) => line.startsWith('{')))
    )
  return item.kind === 'diagnostic' && item.ours
}
