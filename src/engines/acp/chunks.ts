import { type EngineFrame, isRecord, type Limits, type Say, type Speaker, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'

type Update = Record<string, unknown>
type Gathered = 'agent_thought_chunk' | 'user_message_chunk'

/** Characters of a message to remember, for its error text. */
const MAX_HEAD = 300
/** Maximum number of pieces of one text: short pieces cost more than their text. */
const MAX_PIECES = 65_536

/**
 * Joins the chunks of messages and thoughts. The protocol does not say where one ends: it ends where
 * something else begins, or where the `messageId` changes, if the agent sends one.
 */
export function chunkReader({ maxFrame }: Limits) {
  /** Ids of the agent that were used: text after a tool call is another message, even with the same id. */
  const used = memory<true>(() => 0)
  let message: { readonly id: string; readonly of: string } | undefined
  let head = ''
  /** Thoughts and prompts become events when they are complete, so their frames are kept until then. */
  let gathered:
    | {
        kind: Gathered
        of: string
        id: string | undefined
        range: Pick<EngineFrame, 'channel' | 'from' | 'to'>
        size: number
      }
    | undefined
  let pieces: string[] = []

  const take = (id: string | undefined): string | undefined => {
    if (id === undefined || used.get(id)) return undefined
    used.set(id, true)
    return id
  }

  const endMessage = (say: Say, more: Speaker = {}) => {
    if (message) say.message(message.id, undefined, more)
    message = undefined
  }

  return {
    /** The beginning of the last message of the turn that ends here. */
    takeHead(): string {
      const last = head
      head = ''
      return last
    },
    endMessage,
    addMessage(session: string, update: Update, say: Say): void {
      const piece = textOf(update['content'])
      if (!piece) return
      const name = text(update['messageId'])
      const of = `${session} ${name ?? ''}`
      if (message?.of !== of) endMessage(say)
      if (!message) {
        message = { id: take(name) ?? say.newId(), of }
        head = ''
      }
      if (head.length < MAX_HEAD) head += piece.slice(0, MAX_HEAD)
      say.delta(message.id, piece)
    },
    gather(kind: Gathered, session: string, update: Update, frame: EngineFrame, say: Say): true | 'kept' {
      const piece = textOf(update['content'])
      if (!piece) return true
      const name = text(update['messageId'])
      const of = `${kind} ${frame.channel} ${session} ${name ?? ''}`
      if (
        gathered &&
        (gathered.of !== of || pieces.length >= MAX_PIECES || gathered.size > maxFrame - piece.length)
      )
        this.endGathered(say, frame)
      const { channel, from } = gathered?.range ?? frame
      gathered = {
        kind,
        of,
        id: gathered || kind === 'user_message_chunk' ? gathered?.id : take(name),
        range: { channel, from, to: frame.to },
        size: (gathered?.size ?? 0) + piece.length,
      }
      pieces.push(piece)
      return 'kept'
    },
    /** The kind of text that is being gathered. */
    gathering: (): Gathered | undefined => gathered?.kind,
    /** Reports the gathered thought or prompt; the next reports are about `frame`. */
    endGathered(say: Say, frame?: EngineFrame): void {
      if (!gathered) return
      say.about(gathered.range)
      if (gathered.kind === 'user_message_chunk') say.user(pieces.join(''))
      else say.reasoning(gathered.id, pieces.join(''))
      gathered = undefined
      pieces = []
      if (frame) say.about(frame)
    },
  }
}

/** The text of a content block; undefined for an image, a link and the like. */
export function textOf(content: unknown): string | undefined {
  return isRecord(content) && content['type'] === 'text' ? text(content['text']) : undefined
}
