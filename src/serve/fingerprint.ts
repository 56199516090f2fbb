import fs from 'node:fs'
import { type Attempt, channels } from '../run/audit.ts'

/**
 * Identifies the files of these attempts with their age and size: the value changes when one of them does.
 */
export function fingerprint(attempts: readonly Attempt[]): string {
  return attempts
    .flatMap(({ logs, chunks, meta, fsDiff }) => [
      ...channels.map((name) => logs[name]),
      chunks,
      meta,
      fsDiff,
    ])
    .map((path) => (path === undefined ? '' : fileMark(path)))
    .join()
}

/** The same for one file; empty if it is missing. */
export function fileMark(path: string): string {
  try {
    const { dev, ino, size, mtimeMs } = fs.lstatSync(path)
    return `${dev}:${ino}:${size}:${mtimeMs}`
  } catch {
    return ''
  }
}
