import { isRecord, type MessageFacts, type Say } from '../events/engine.ts'
import { memory } from '../events/memory.ts'
import { Rec } from '../events/record.ts'
import { calls } from './calls.ts'

/**
 * Content in the form of Anthropic's API, which many agents print or keep: a text, or a list of blocks.
 * In Gemini's API it is one of them, or a list in which there may be texts, too.
 *
 *     [{"type":"thinking","thinking":"Hm."}, {"type":"text","text":"Done."},
 *      {"type":"tool_use","id":"t1","name":"Read","input":{}}]
 */
export function blocksOf(content: unknown): Rec[] {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content]
  const blocks: Rec[] = []
  for (const part of parts) {
    if (typeof part === 'string') blocks.push(new Rec({ type: 'text', text: part }))
    else if (isRecord(part)) blocks.push(new Rec(part))
  }
  return blocks
}

/** The text of a message or of a tool's result; images and the like are left out. */
export function wordsOf(content: unknown, between = '\n'): string {
  if (typeof content === 'string') return content
  const words: string[] = []
  for (const block of blocksOf(content)) {
    const text = block.text('text')
    if (text) words.push(text)
  }
  return words.join(between)
}

/** Calls of the agent, and those that the API itself executes: their results are in the same message. */
export const USES: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use'])

/** Reports what a model wrote, block by block, and how its calls end. One for each run. */
export function contentBlocks() {
  const begun = calls()
  /** Number of blocks of a message: several lines can share its id. */
  const counts = memory<number>(() => 0)

  /** `message`, `message.1`, `message.2`: the id of the next block of a message. */
  const nextId = (message: string): string => {
    const count = counts.get(message) ?? 0
    counts.set(message, count + 1)
    return count === 0 ? message : `${message}.${count}`
  }

  return {
    nextId,
    start: begun.start,
    end: begun.end,
    /** Reports one block; one of another type, or without a text where one belongs, is unknown. */
    say(message: string, block: Rec, say: Say, speaker: MessageFacts = {}): void {
      const type = block.at('type')
      if (type === 'toolCall' || USES.has(type)) {
        const id = block.text('id') ?? ''
        const name = block.text('name') ?? 'tool'
        const input = block.at(type === 'toolCall' ? 'arguments' : 'input')
        begun.start({ id, name, input, parent: speaker.parent }, say)
        return
      }
      if (typeof type === 'string' && type.endsWith('_tool_result')) {
        const output = block.at('content')
        const failed = block.isSet('is_error') || block.text('content.type')?.endsWith('_error') === true
        const error = block.text('content.error_code')
        const id = block.text('tool_use_id') ?? ''
        begun.end({ id, output, error, parent: speaker.parent }, failed, say)
        return
      }
      const isWords = type === 'text' || type === 'thinking'
      const words = isWords ? block.text(type) : undefined
      if (words === undefined) {
        const told = isWords ? block.at(type) : type !== 'redacted_thinking'
        if (told) say.unknownType(`content ${String(type)}`)
      } else if (type === 'text') say.message(nextId(message), words, speaker)
      else say.reasoning(nextId(message), words, { parent: speaker.parent })
    },
  }
}
