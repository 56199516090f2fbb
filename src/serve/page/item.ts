import type { CompletionData, RawRef, ResultData, Severity } from '../../events/event.ts'
import type { Tokens } from '../../events/tokens.ts'
import type { Problem } from '../../views/problems.ts'

/** Fields of every item of the conversation. */
interface Common {
  /** The address of its first event: `<attempt>.<seq>`. */
  readonly id: string
  /** Its index among all items. */
  readonly at: number
  readonly attempt: number
  readonly seq: number
  readonly ts: string
  /** The type of its first event. */
  readonly type: string
  readonly confidence: number
  /** The bytes it was read from, in order. */
  readonly refs: RawRef[]
  /** Set on the first item of a later attempt. */
  readonly heading?: string | undefined
  /** What went wrong here. */
  problem?: Problem | undefined
  /** Whether it is unfolded. */
  open: boolean
  /** Counts the changes, so that the drawn element knows when it is outdated. */
  version: number
}

export interface MessageItem extends Common {
  readonly kind: 'message'
  text: string
  /** More of it will arrive. */
  growing: boolean
  incomplete: boolean
  /** A subagent wrote it. */
  readonly nested: boolean
}

export interface ToolItem extends Common {
  readonly kind: 'tool'
  readonly name: string
  readonly nested: boolean
  input: unknown
  output: unknown
  error: string | undefined
  exitCode: number | undefined
  state: 'running' | 'completed' | 'failed'
  /** As measured by the engine, else the time between its events. */
  milliseconds: number | undefined
}

export interface RawItem extends Common {
  readonly kind: 'raw'
  readonly stream: string
  readonly lines: string[]
}

export interface FileItem extends Common {
  readonly kind: 'artifact'
  readonly change: 'created' | 'modified' | 'deleted'
  readonly path: string
  readonly diff: string | undefined
}

export interface NoteItem extends Common {
  readonly kind: 'diagnostic'
  /** From the parser, not from the engine. */
  readonly ours: boolean
  readonly code: string
  readonly message: string
  readonly severity: Severity
  readonly count: number
}

export interface StatusItem extends Common {
  readonly kind: 'status'
  readonly status: string
  readonly model: string | undefined
  readonly reason: string | undefined
  readonly tokens: Tokens | undefined
}

/**
 * One entry of the conversation. It can be made of several events: the deltas of a message, the start and the
 * end of a call.
 */
export type Item =
  | MessageItem
  | ToolItem
  | RawItem
  | FileItem
  | NoteItem
  | StatusItem
  | (Common & { readonly kind: 'prompt' | 'reasoning'; readonly text: string })
  | (Common & { readonly kind: 'result'; readonly result: ResultData })
  | (Common & { readonly kind: 'end'; readonly end: CompletionData })

/** The part of an item that is specific to its kind. */
export type Content = Item extends infer I ? (I extends Item ? Omit<I, keyof Common> : never) : never
