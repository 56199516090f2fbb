import type { Note } from '../base/fault.ts'
import type { Channel } from '../text/chunk.ts'

/** What a frame was found as. */
export type FrameKind = 'line' | 'tag' | 'fence' | 'object' | 'text'

/**
 * A piece cut from one channel. The frames of a channel cover it completely: every byte is in exactly one
 * frame's `[from, to)`, in order.
 *
 * @example
 * // <json>{"a":1}</json>
 * const frame: Frame = { kind: 'tag', channel: 'stdout', from: 0, to: 20, text: '{"a":1}', label: 'json' }
 */
export interface Frame {
  readonly kind: FrameKind
  readonly channel: Channel
  /** First byte, as an offset in the channel's original bytes; delimiters included. */
  readonly from: number
  /** One past the last byte. */
  readonly to: number
  /**
   * The decoded text between the delimiters; empty for text ranges. Escape sequences are removed from a PTY
   * and kept from a pipe, where a program wrote them into its payload.
   */
  readonly text: string
  /** For an item of a larger document: its place, as a JSON pointer: `/issues/0`. */
  readonly path?: string
  /** The name of the tag, or what follows the opening marks of the fence: `json`. */
  readonly label?: string
  /** The input ended inside this frame: `<json>{"a":1}` without `</json>`. */
  readonly open?: true
  /** In `values()`: only blanks and closed think blocks precede it, so it may be the whole input. */
  readonly first?: true
  /**
   * For an object that is a piece of something broken, `{"a":1}, {"b":2}`: the byte offset of what shows
   * that, a bracket that was never opened, or a `,` or `:` before more JSON. The rest is skipped as text.
   */
  readonly broken?: number
  /** For an object: it follows `[`, `{`, `,` or `":`, as inside a larger document: `"k": {"a":1}`. */
  readonly attached?: true
  /**
   * It is a piece of something that is not JSON (an argument, `f({"a":1})`, a parameter, a cell), or an array
   * that looks like a citation, an index or a link: `see [1]`, `list[0]`. It counts only as the whole input.
   */
  readonly aside?: true
  /** It is in code: in a fence that is not marked as JSON, which is read as prose, or after `//`. */
  readonly in_fence?: true
  /** For text: only blanks. */
  readonly blank?: boolean
  /** What was noticed while cutting: FRAME_TOO_LONG, INVALID_UTF8, THINK_UNCLOSED, THINK_OPEN. */
  readonly notes?: readonly Note[]
}
