import { isCount, misfit, type OptionTable } from '../base/check-options.ts'
import { badOption } from '../base/fault.ts'
import type { Dialect } from './thought-dialects.ts'

/** What to cut. Every kind is on by default; what is not cut is text. */
export interface FrameOptions {
  /** Names of the tags whose blocks are cut; `[]` for none. @default ['json'] */
  readonly tags?: readonly string[] | undefined
  /** Cut CommonMark fenced blocks. @default true */
  readonly fences?: boolean | undefined
  /** Cut NDJSON lines, too. (`lines` of `values()` means: nothing else.) @default true */
  readonly lines?: boolean | undefined
  /** Cut bare objects and arrays of objects in prose. @default true */
  readonly objects?: boolean | undefined
  /**
   * Skip thoughts in the dialects of models (`<think>`, `[THINK]`, harmony's channels and others), or in tags
   * of the given names. A name in `tags` is none of them.
   * @default true
   */
  readonly think?: boolean | readonly string[] | undefined
  /** Emit the ranges between payloads as text frames. @default true */
  readonly text?: boolean | undefined
  /** Bytes a frame may have before it is passed on as text with FRAME_TOO_LONG. @default 16 MiB */
  readonly maxFrame?: number | undefined
}

function checkTags(tags: unknown): void {
  checkNames('tags', tags, 'frames({ tags: ["json"] })')
}

/** For a layer that looks for one tag. */
export function checkTag(tag: unknown, who: string): void {
  if (typeof tag !== 'string') throw misfit('tag', 'a name', tag, `${who}({ tag: "json" })`)
  checkName('tag', tag)
}

export function checkThink(think: unknown): void {
  if (typeof think !== 'boolean') checkNames('think', think, 'values({ think: ["think", "notes"] })')
}

function checkNames(option: string, names: unknown, example: string): void {
  if (!Array.isArray(names)) throw misfit(option, 'an array of names', names, example)
  for (const name of names) checkName(option, name)
}

function checkName(option: string, name: unknown): void {
  if (typeof name === 'string' && /^[A-Za-z][A-Za-z0-9_:.-]{0,63}$/.test(name)) return
  throw badOption(`${option}: "${String(name)}" is not a tag name; use letters, digits, "-", "_", "." or ":"`)
}

export const FRAME_OPTIONS = {
  tags: { check: checkTags, default: ['json'] },
  fences: { default: true },
  lines: { default: true },
  objects: { default: true },
  think: { check: checkThink, default: true },
  text: { default: true },
  maxFrame: { default: 16_777_216, is: isCount, must: 'be a positive number of bytes, not %' },
} as const satisfies OptionTable<FrameOptions>

/** How the next layer wants openers to be judged. */
export interface OpenerRules {
  /** A tag opens only before `{`, `[`, a fence or `<`. @default false */
  readonly needsPayload?: boolean | undefined
  /**
   * A tag that is never closed is a frame if its opener begins or ends its line; before a payload, if it is
   * alone there. Any other is an aside: text may only name it. @default false
   */
  readonly keepUnclosed?: boolean | undefined
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
  /** With `lines`: a record that a raw line break in a string has cut goes on. @default false */
  readonly joinLines?: boolean | undefined
  /**
   * A fence that is not marked as JSON is a frame only if its body is one JSON document, an object or with
   * `any` an array, too; otherwise it is read as prose. Fences as models write them count, too: an opener at
   * the end of a line of prose, and words behind a closer.
   * @default false
   */
  readonly readFences?: false | 'object' | 'any' | undefined
  /** The answer is decided at the end of the input: a thought hides at any length. @default false */
  readonly patient?: boolean | undefined
  /** Every bracket in prose opens, whatever follows it. @default false */
  readonly everyBracket?: boolean | undefined
  /**
   * Where an object in prose ends whose quotes or brackets do not match, so that it would never close; -1 if
   * it is not one.
   * @default () => -1
   */
  readonly endOfBroken?: ((text: string) => number) | undefined
  /**
   * Frames to emit before the rest waits for `more()`.
   * @default unlimited, and `more()` need not be called
   */
  readonly turn?: number | undefined
}

export const OPENER_RULES = {
  needsPayload: { default: false },
  keepUnclosed: { default: false },
  loose: { default: false },
  document: { default: false },
  scalars: { default: false },
  everyLine: { default: false },
  joinLines: { default: false },
  readFences: { default: false },
  patient: { default: false },
  everyBracket: { default: false },
  endOfBroken: { default: () => -1 },
  turn: { default: Number.POSITIVE_INFINITY },
} as const satisfies OptionTable<OpenerRules>

/** All options, with their defaults filled in; `think` are the dialects of thoughts. */
export type ScanOptions = {
  readonly [K in keyof Omit<FrameOptions & OpenerRules, 'think'>]-?: Exclude<
    (FrameOptions & OpenerRules)[K],
    undefined
  >
} & { readonly think: readonly Dialect[] }
