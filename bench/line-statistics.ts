import { realRuns } from './real-lines.ts'

/** What decides how fast lines are read: how long they are, and how much of them is no plain ASCII. */
export interface LineStatistics {
  readonly lines: number
  /** With the LF of each line. */
  readonly bytes: number
  readonly median: number
  readonly longest: number
  /** Shares of all bytes: in lines over 4 KiB, in lines over 64 KiB, bytes above 0x7f, backslashes. */
  readonly over_4k: number
  readonly over_64k: number
  readonly non_ascii: number
  readonly escapes: number
}

const BACKSLASH = 0x5c

/** Of the packed lines of each engine, and of all; fixtures/lines/statistics.json is this. */
export function packedStatistics(): Record<string, LineStatistics> {
  const lines = new Map([...realRuns()].map(([engine, runs]) => [engine, runs.flat()]))
  lines.set('all', [...lines.values()].flat())
  return Object.fromEntries([...lines].map(([name, own]) => [name, lineStatistics(own)]))
}

export function lineStatistics(lines: readonly Buffer[]): LineStatistics {
  const lengths = lines.map(({ length }) => length).sort((a, b) => a - b)
  const bytes = sum(lengths) + lines.length
  let nonAscii = 0
  let escapes = 0
  for (const line of lines) {
    for (const byte of line) {
      if (byte > 0x7f) nonAscii++
      else if (byte === BACKSLASH) escapes++
    }
  }
  const share = (part: number) => Math.round((part / bytes) * 1000) / 1000
  const over = (size: number) => share(sum(lengths.filter((length) => length > size)))
  return {
    lines: lines.length,
    bytes,
    median: lengths[lengths.length >> 1] ?? 0,
    longest: lengths.at(-1) ?? 0,
    over_4k: over(4096),
    over_64k: over(65_536),
    non_ascii: share(nonAscii),
    escapes: share(escapes),
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
