import fs from 'node:fs'
import { join, sep } from 'node:path'
import { orElse } from '../base/fault.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants

/**
 * Opens a file in a directory that others can write to: an agent may have put anything under its name. A link
 * is not followed, a FIFO is not waited for, and anything but a regular file is refused (EFTYPE). Nothing
 * stays open after a failure.
 *
 * `within` is the real path of a directory that must contain the file: one that was reached through a folder
 * that became a link is refused (EXDEV), and so is one that has another name elsewhere, a hard link. It is
 * checked after the open, because a check before it would be a race.
 */
export function openPlain(path: string, flags: number = O_RDONLY, mode?: number, within?: string): number {
  // Windows has no O_NOFOLLOW: this check can be raced, but a link that lies there is not followed.
  if (O_NOFOLLOW === undefined && fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
    throw Object.assign(new Error('this is a link'), { code: 'ELOOP' })
  const fd = fs.openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, mode)
  try {
    const stats = fs.fstatSync(fd)
    if (!stats.isFile()) throw Object.assign(new Error('this is not a regular file'), { code: 'EFTYPE' })
    if (within === undefined) return fd
    if (isInside(realPathOf(fd, path), within) && hasAllLinksIn(within, stats)) return fd
    throw Object.assign(new Error('this file is outside the directory'), { code: 'EXDEV' })
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
}

/** True if this real path is that directory or inside it. */
export function isInside(real: string | undefined, within: string): boolean {
  return real === within || real?.startsWith(within.endsWith(sep) ? within : within + sep) === true
}

/** Files of a directory that are looked at to find those with several names. */
const MAX_LOOKED = 20_000
/** Milliseconds after a count in which a new name may have the same time stamp. */
const SAME_MS = 100

/** Counted once for all files of a directory, because a copy of hard links has thousands of them. */
const counted = new Map<string, ReturnType<typeof countLinks>>()
const MAX_COUNTED = 100

/** Whether all names of a file are in a directory; a copy of hard links is, next to the original. */
function hasAllLinksIn(dir: string, { dev, ino, nlink, ctimeMs }: fs.Stats): boolean {
  if (nlink < 2) return true
  const known = counted.get(dir)
  // A new name changes the ctime of the file.
  const links = known && ctimeMs < known.at - SAME_MS ? known : countLinks(dir)
  if (counted.size >= MAX_COUNTED) counted.clear()
  counted.set(dir, links)
  return links.names.get(`${dev}:${ino}`) === nlink
}

/** How many names each file has in a directory, of those that have several anywhere. */
function countLinks(dir: string) {
  const at = Date.now()
  const names = new Map<string, number>()
  let looked = 0
  const folders = [dir]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      // In a larger directory no file with several names counts as being inside.
      if (++looked > MAX_LOOKED) return { at, names: new Map<string, number>() }
      const path = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(path)
      const found = entry.isFile() ? fs.lstatSync(path, { throwIfNoEntry: false }) : undefined
      if (!found || found.nlink < 2) continue
      const key = `${found.dev}:${found.ino}`
      names.set(key, (names.get(key) ?? 0) + 1)
    }
  }
  return { at, names }
}

/** The real path of an open file: from the kernel, or else its name, if that still leads to the same file. */
function realPathOf(fd: number, path: string): string | undefined {
  try {
    return fs.readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    const real = fs.realpathSync(path)
    const there = fs.lstatSync(real)
    const here = fs.fstatSync(fd)
    return there.ino === here.ino && there.dev === here.dev ? real : undefined
  }
}

/** When a file was last written, in milliseconds since 1970; 0 if that cannot be known. */
export function writtenAt(path: string): number {
  return orElse(() => fs.statSync(path).mtimeMs, 0)
}

/** Opens such a file for a moment. */
export function withPlain<T>(path: string, within: string | undefined, use: (fd: number) => T): T {
  const fd = openPlain(path, O_RDONLY, undefined, within)
  try {
    return use(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** The bytes of an open file from a position on: `length` of them, or fewer at its end. */
export function readBlock(fd: number, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const more = fs.readSync(fd, bytes, read, length - read, at + read)
    if (more === 0) break
    read += more
  }
  return bytes.subarray(0, read)
}

/** Whether a file begins with these characters of Latin-1. False if it cannot be read. */
export function beginsWith(path: string, start: string): boolean {
  let fd: number | undefined
  try {
    fd = fs.openSync(path, 'r')
    return readBlock(fd, 0, start.length).toString('latin1') === start
  } catch {
    return false
  } finally {
    if (fd !== undefined) fs.closeSync(fd)
  }
}

/** The text of such a file; a file larger than `maxBytes` is refused (EFBIG). */
export function readPlain(path: string, maxBytes: number, within?: string): string {
  return withPlain(path, within, (fd) => {
    // One byte more than the size or the limit: if it is filled, the file is too large or still growing.
    const room = Math.min(fs.fstatSync(fd).size, maxBytes) + 1
    const bytes = readBlock(fd, 0, room)
    if (bytes.length < room) return bytes.toString()
    throw Object.assign(new Error('this file is too large'), { code: 'EFBIG' })
  })
}
