import { isCount, misfit, type OptionTable } from '../base/check-options.ts'
import { Fault } from '../base/fault.ts'

/** What to cut. Every kind is on by default; what is not cut is text. */
export interface FrameOptions {
  /** Names of the tags whose blocks are cut; `[]` for none. @default ['json'] */
  readonly tags?: readonly string[] | undefined
  /** Cut CommonMark fenced blocks. @default true */
  readonly fences?: boolean | undefined
  /** Cut NDJSON lines. @default true */
  readonly lines?: boolean | undefined
  /** Cut bare objects and arrays of objects in prose. @default true */
  readonly objects?: boolean | undefined
  /** Skip `<think>` and `<thinking>` blocks. @default true */
  readonly think?: boolean | undefined
  /** Emit the ranges between payloads as text frames. @default true */
  readonly text?: boolean | undefined
  /** Bytes a frame may have before it is passed on as text with FRAME_TOO_LONG. @default 16 MiB */
  readonly maxFrame?: number | undefined
}

function checkTags(tags: unknown): void {
  if (!Array.isArray(tags)) throw misfit('tags', 'an array of names', tags, 'frames({ tags: ["json"] })')
  for (const name of tags) {
    if (typeof name === 'string' && /^[A-Za-z][A-Za-z0-9_:.-]{0,63}$/.test(name)) continue
    throw new Fault(
      'BAD_OPTION',
      `tags: "${String(name)}" is not a tag name; use letters, digits, "-", "_", "." or ":"`,
    )
  }
}

export const FRAME_OPTIONS = {
  tags: { check: checkTags, default: ['json'] },
  fences: { default: true },
  lines: { default: true },
  objects: { default: true },
  think: { default: true },
  text: { default: true },
  maxFrame: { default: 16_777_216, is: isCount, must: 'be a positive number of bytes, not %' },
} as const satisfies OptionTable<FrameOptions>

/** How the next layer wants openers to be judged. */
export interface OpenerRules {
  /** A tag opens only before `{`, `[`, a fence or `<`. @default false */
  readonly needsPayload?: boolean | undefined
  /** There is a schema to decide: arrays open before any JSON value, not only before `{`. @default false */
  readonly loose?: boolean | undefined
  /**
   * What begins at the first non-blank byte may be the whole input; with `any`, a scalar too.
   * @default false
   */
  readonly document?: false | 'object' | 'any' | undefined
  /** With `lines`: a line that is one JSON string, number or literal is a line frame. @default false */
  readonly scalars?: boolean | undefined
  /**
   * With `lines`: every line that is not blank is a line frame, JSON or not, and nothing else is cut.
   * @default false
   */
  readonly everyLine?: boolean | undefined
  /**
   * Frames to emit before the rest waits for `more()`.
   * @default unlimited, and `more()` need not be called
   */
  readonly turn?: number | undefined
}

export const OPENER_RULES = {
  needsPayload: { default: false },
  loose: { default: false },
  document: { default: false },
  scalars: { default: false },
  everyLine: { default: false },
  turn: { default: Number.POSITIVE_INFINITY },
} as const satisfies OptionTable<OpenerRules>

/** All options, with their defaults filled in. */
export type ScanOptions = {
  readonly [K in keyof (FrameOptions & OpenerRules)]-?: Exclude<(FrameOptions & OpenerRules)[K], undefined>
}
