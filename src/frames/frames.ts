import { Fault } from '../base/fault.ts'
import { type Flow, flow } from '../base/flow.ts'
import type { Sink, Stage } from '../base/stage.ts'
import { type Channel, type Chunk, chunkIntake } from './chunk.ts'
import { feed } from './feed.ts'
import type { Frame } from './frame.ts'
import { prose } from './prose.ts'
import { Scan } from './scan.ts'

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
  /** Bytes a frame may have before it is let go as text with FRAME_TOO_LONG. @default 16 MiB */
  readonly maxFrame?: number | undefined
}

/** How the floor above wants openers judged. */
export interface OpenerRules {
  /** A tag opens only before `{`, `[`, a fence or `<`. @default false */
  readonly needsPayload?: boolean | undefined
  /** A schema can tell: objects with bare or single-quoted keys open, too. @default false */
  readonly loose?: boolean | undefined
  /** What begins at the first non-blank byte may be the whole input, also a scalar with `any`. @default false */
  readonly document?: false | 'object' | 'any' | undefined
  /** Every line that is not blank is cut as a record. @default false */
  readonly everyLine?: boolean | undefined
  /** Frames to emit before the rest waits for `more()`. @default no end, and no need to call it */
  readonly turn?: number | undefined
}

export type ScanOptions = {
  readonly [K in keyof (FrameOptions & OpenerRules)]-?: Exclude<(FrameOptions & OpenerRules)[K], undefined>
}

/** Bytes that are read again may hold a million small frames: a flow takes them in turns of so many. */
export const TURN = 256
export const DEFAULT_MAX_FRAME = 16 * 1024 * 1024

/**
 * Cuts bytes into frames: `<json>` blocks, fenced blocks, NDJSON lines, bare objects, and the text between them.
 * The frames of a channel tile it, whatever the chunks and whatever the bytes.
 *
 * @example
 * for await (const frame of child.stdout.pipe(frames({ lines: true }))) {
 *   if (frame.kind === 'line') console.log(frame.from, frame.text)
 * }
 */
export function frames(
  options: FrameOptions & { readonly signal?: AbortSignal | undefined } = {},
): Flow<Frame> {
  return flow(frameStage({ ...options, turn: TURN }), { signal: options.signal, intake: chunkIntake })
}

/** The stage behind `frames()`. Each channel has a scanner of its own; exit chunks are passed over. */
export function frameStage(options: FrameOptions & OpenerRules = {}): Stage<Chunk, Frame> {
  const complete = withDefaults(options)
  return (next) => {
    const channels = new Map<Channel, Required<Sink<Uint8Array>>>()
    let ended = false

    function more(): boolean {
      for (const scanner of channels.values()) if (scanner.more()) return true
      if (ended) next.end()
      ended = false
      return false
    }

    return {
      write(chunk) {
        if (chunk.channel === 'exit') return
        let scanner = channels.get(chunk.channel)
        if (!scanner) {
          scanner = scanChannel(chunk.channel, complete, next)
          channels.set(chunk.channel, scanner)
        }
        scanner.write(chunk.bytes)
      },
      end() {
        ended = true
        for (const scanner of channels.values()) scanner.end()
        if (complete.turn === Number.POSITIVE_INFINITY) more()
      },
      more,
    }
  }
}

function scanChannel(channel: Channel, options: ScanOptions, next: Sink<Frame>): Required<Sink<Uint8Array>> {
  const scan = new Scan(channel, next, options)
  return feed(scan, prose(scan, options), options.turn)
}

function withDefaults(options: FrameOptions & OpenerRules): ScanOptions {
  const { tags = ['json'], maxFrame = DEFAULT_MAX_FRAME } = options
  for (const name of tags) {
    if (!/^[A-Za-z][A-Za-z0-9_:.-]{0,63}$/.test(name)) {
      throw new Fault(
        'BAD_OPTION',
        `tags: "${name}" is no tag name; use letters, digits, "-", "_", "." or ":"`,
      )
    }
  }
  if (!Number.isSafeInteger(maxFrame) || maxFrame < 1) {
    throw new Fault('BAD_OPTION', `maxFrame must be a positive number of bytes, not ${maxFrame}`)
  }
  return {
    tags,
    maxFrame,
    fences: options.fences ?? true,
    lines: options.lines ?? true,
    objects: options.objects ?? true,
    think: options.think ?? true,
    text: options.text ?? true,
    needsPayload: options.needsPayload ?? false,
    loose: options.loose ?? false,
    document: options.document ?? false,
    everyLine: options.everyLine ?? false,
    turn: options.turn ?? Number.POSITIVE_INFINITY,
  }
}
