import fs from 'node:fs'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants

/**
 * Opens a file in a directory that is not ours alone: an agent may have put anything under its name. A link is not followed,
 * a FIFO is not waited for, and what is no plain file is refused (EFTYPE). Nothing stays open after a failure.
 *
 * @example
 * const fd = openPlain('.audit/events.jsonl')
 */
export function openPlain(path: string, flags: number = O_RDONLY, mode?: number): number {
  const fd = fs.openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, mode)
  try {
    if (fs.fstatSync(fd).isFile()) return fd
    throw Object.assign(new Error('this is no plain file'), { code: 'EFTYPE' })
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
}

/** The text of such a file; one that is larger than `maxBytes` is refused (EFBIG). */
export function readPlain(path: string, maxBytes: number): string {
  const fd = openPlain(path)
  try {
    // One byte more than there is, or than is allowed: if it is filled, the file is too large or still growing.
    const bytes = Buffer.allocUnsafe(Math.min(fs.fstatSync(fd).size, maxBytes) + 1)
    let size = 0
    while (size < bytes.length) {
      const read = fs.readSync(fd, bytes, size, bytes.length - size, size)
      if (read === 0) return bytes.toString('utf8', 0, size)
      size += read
    }
    throw Object.assign(new Error('this file is too large'), { code: 'EFBIG' })
  } finally {
    fs.closeSync(fd)
  }
}
