import { type BigIntStats, constants } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'

/** What is found at the place of a result file. */
export type Found =
  | { readonly state: 'absent' }
  | { readonly state: 'stale' }
  | { readonly state: 'refused'; readonly message: string }
  | { readonly state: 'read'; readonly text: string; readonly bytes: number }

/** What a path looked like before the run. An equal one afterwards was not written by the run. */
export interface Before {
  readonly print: string | undefined
}

/** Takes the picture of a path before the worker starts. */
export async function before(path: string): Promise<Before> {
  const stats = await look(path)
  return { print: typeof stats === 'object' ? fingerprint(stats) : undefined }
}

/**
 * Reads a file that a worker wrote, and trusts nothing about it: it may be a link to a secret, a FIFO that
 * never answers, a device, a directory, 2 GB of zeros, or be swapped for one of them at any moment.
 *
 * So: the path is looked at without following, opened without following and without blocking, and what
 * was opened must be the very file that was looked at, plain, with no second name, small, and unchanged
 * when it has been read.
 *
 * @example
 * const found = await readResult(root, 'work_result.json', await before(path), 1 << 20)
 */
export async function readResult(root: string, name: string, old: Before, maxBytes: number): Promise<Found> {
  const path = join(root, name)
  const seen = await look(path)
  if (seen === 'absent') return { state: 'absent' }
  if (typeof seen === 'string') return refused(seen)
  if (fingerprint(seen) === old.print) return { state: 'stale' }
  const wrong = unfit(seen, maxBytes) ?? (await outside(root, path))
  if (wrong) return refused(wrong)
  // A FIFO that was put here since would block an ordinary open for ever.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => error.code ?? 'unreadable')
  if (typeof file === 'string') return refused(`cannot be opened (${file})`)
  try {
    const opened = await file.stat({ bigint: true })
    if (fingerprint(opened) !== fingerprint(seen)) return refused('was swapped while it was opened')
    const bytes = Buffer.alloc(Number(opened.size) + 1)
    let size = 0
    while (size < bytes.length) {
      const { bytesRead } = await file.read(bytes, size, bytes.length - size, size)
      if (bytesRead === 0) break
      size += bytesRead
    }
    const after = await file.stat({ bigint: true })
    if (size !== Number(opened.size) || fingerprint(after) !== fingerprint(opened)) {
      return refused('changed while it was read')
    }
    return { state: 'read', text: utf8.decode(bytes.subarray(0, size)), bytes: size }
  } catch (error) {
    return refused(error instanceof TypeError ? 'is not UTF-8' : `cannot be read (${errorCode(error)})`)
  } finally {
    await file.close()
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const refused = (message: string): Found => ({ state: 'refused', message })

async function look(path: string): Promise<BigIntStats | string> {
  try {
    return await lstat(path, { bigint: true })
  } catch (error) {
    const code = errorCode(error)
    return code === 'ENOENT' ? 'absent' : `cannot be looked at (${code})`
  }
}

/** Identity and state of a file, in one string: nanosecond times tell two writes apart. */
function fingerprint(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.mode, stats.size, stats.mtimeNs, stats.ctimeNs].join(':')
}

function unfit(stats: BigIntStats, maxBytes: number): string | undefined {
  if (stats.isSymbolicLink()) return 'is a symbolic link'
  if (stats.isDirectory()) return 'is a directory'
  if (stats.isFIFO()) return 'is a FIFO'
  if (!stats.isFile()) return 'is no plain file'
  if (stats.nlink > 1n) return 'has a second name (hard link)'
  if (stats.size > BigInt(maxBytes)) return `has ${stats.size} bytes, more than ${maxBytes}`
  return undefined
}

/** O_NOFOLLOW guards the last name only: a folder on the way may be a link, too. */
async function outside(root: string, path: string): Promise<string | undefined> {
  const real = await realpath(dirname(path)).catch(() => undefined)
  if (real === undefined) return 'is in a folder that went away'
  const inside = relative(root, real)
  const left = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)
  return left ? 'is reached through a link out of repo_dir' : undefined
}

function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error'
}
