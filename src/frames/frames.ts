import { completed, readOptions } from '../base/check-options.ts'
import type { Sink, Stage } from '../base/stage.ts'
import type { Channel, Chunk } from '../text/chunk.ts'
import type { Frame } from './frame.ts'
import {
  FRAME_OPTIONS,
  type FrameOptions,
  OPENER_RULES,
  type OpenerRules,
  type ScanOptions,
} from './frame-options.ts'
import { Prose } from './prose.ts'
import { type Opened, Scan } from './scan.ts'
import { feed, type LineScan } from './scan-driver.ts'
import { dialectsOf } from './thought-dialects.ts'

export { FRAME_OPTIONS, type FrameOptions, type OpenerRules } from './frame-options.ts'
export type { LineScan } from './scan-driver.ts'

/** One chunk may hold a million small frames: a flow takes them in turns of this many. */
export const TURN = 256

const SCAN_OPTIONS = { ...FRAME_OPTIONS, ...OPENER_RULES }

/** `frames()` without streams: see `Stage`. Each channel is cut by itself; exit chunks are skipped. */
export function frameStage(options: FrameOptions = {}): Stage<Chunk, Frame> {
  return scanStage(readOptions('frameStage', options, 'frameStage({ lines: true })', FRAME_OPTIONS))
}

/** The same for the layers above, which have checked the options, and say how openers are judged. */
export function scanStage(options: FrameOptions & OpenerRules): Stage<Chunk, Frame> {
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

/**
 * Scans text as `frames` does, and reports what opens in it, too. The scan is returned: it knows what is
 * open, and holds its bytes.
 */
export function openingScan(
  options: FrameOptions & OpenerRules,
  opened: Opened,
  cut: (frame: Frame) => void = () => {},
): { readonly scan: Scan; write(bytes: Uint8Array): void; end(): void } {
  const complete = withDefaults({ ...options, text: false })
  const scan = new Scan('stdout', { write: cut, end() {} }, complete)
  scan.opened = opened
  const { write, end } = feed(scan, new Prose(scan, complete), complete.turn)
  return { scan, write, end }
}

/** The scanner of one channel, for a layer that skips lines, which do not depend on each other. */
export function lineScan(
  options: Pick<FrameOptions & OpenerRules, 'maxFrame' | 'everyLine' | 'scalars' | 'turn'>,
): (channel: Channel, next: Sink<Frame>) => LineScan {
  const only = { tags: [], fences: false, objects: false, think: false, lines: true }
  const complete = withDefaults({ ...options, ...only })
  return (channel, next) => scanChannel(channel, complete, next)
}

function scanChannel(channel: Channel, options: ScanOptions, next: Sink<Frame>): LineScan {
  const scan = new Scan(channel, next, options)
  return feed(scan, new Prose(scan, options), options.turn)
}

/** All options of a scan, which are not checked. */
export function withDefaults(options: FrameOptions & OpenerRules): ScanOptions {
  const complete = completed(options, SCAN_OPTIONS)
  const everyLine = complete.lines && complete.everyLine
  const think = dialectsOf(complete.think, complete.tags)
  // If every line is a frame, nothing else can be one.
  const nothingElse = { tags: [], fences: false, objects: false, think: [], document: false } as const
  return { ...complete, think, ...(everyLine && nothingElse), everyLine }
}
