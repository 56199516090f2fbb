import fs from 'node:fs'
import { type Attempt, channels } from '../run/audit.ts'

/** Which files these attempts have now, and how old and large they are: another value when one of them changed. */
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

/** The same of one file; empty if it is not there. */
export function fileMark(path: string): string {
  try {
    const { dev, ino, size, mtimeMs } = fs.lstatSync(path)
    return `${dev}:${ino}:${size}:${mtimeMs}`
  } catch {
    return ''
  }
}
