import fs from 'node:fs'
import { diskFault } from '../base/disk-fault.ts'
import { Fault } from '../base/fault.ts'
import { openPlain } from './plain-file.ts'

const LF = 10
const BLOCK = 64 * 1024

/** A file of whole lines that is only ever appended to. Opened by one writer at a time. */
export interface LineFile {
  /** Appends one line, terminated by LF. When this returns, the file has all of it or nothing. */
  append(line: string): void
  /** All lines from the start, without their LF. */
  lines(): Generator<string, void>
  /** The last line without its LF, or undefined in an empty file. */
  last(): string | undefined
  /** Removes the last line. */
  dropLast(): void
  /** Waits until the data is on the disk. */
  sync(): void
  /** Syncs in the background; an error is thrown by the next `append` or `sync`. */
  syncSoon(): void
  /** Waits for all background syncs: only then does `sync` know all errors. */
  settled(): Promise<void>
  close(): void
}

/**
 * Opens a file of lines, creates it if it is missing, and repairs its tail: anything after
 * the last line that is JSON was torn by a crash (half a line, or the zeros some file systems leave after
 * a power loss) and is cut off.
 *
 * Writes are synchronous on purpose. A line is written before the record is passed on to the
 * next stage, so "passed on" means "stored", and no second queue has to be bounded; a line costs one
 * system call of a few microseconds.
 */
export function openLines(path: string): LineFile {
  const fd = guard('open', path, () =>
    // Only a regular file: the agent that is being recorded may have write access to the directory.
    openPlain(path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o644),
  )
  /** Bytes of whole lines: the position of the next one. */
  let size = 0
  let closed = false
  let dirty = false
  /** Number of background syncs. */
  let asked = 0
  /** Called when there is none any more. */
  let waiting: (() => void)[] = []
  /** Why nothing may be written any more: after one failure a later line could follow a torn one. */
  let broken: Fault | undefined

  const file: LineFile = {
    append(line) {
      if (broken) throw broken
      const bytes = Buffer.from(line)
      let written = 0
      try {
        // A short write is not an error; the next call reports the reason.
        while (written < bytes.length) {
          written += fs.writeSync(fd, bytes, written, bytes.length - written, size + written)
        }
      } catch (error) {
        broken = diskFault('write', path, error)
        // If this fails too, the torn tail stays and the next start repairs it; nothing is written after it.
        try {
          fs.ftruncateSync(fd, size)
        } catch {}
        throw broken
      }
      size += bytes.length
      dirty = true
    },
    *lines() {
      const block = Buffer.allocUnsafe(BLOCK)
      const parts: Buffer[] = []
      for (let at = 0; at < size; ) {
        const read = readFully(fd, block, at, Math.min(size, at + BLOCK))
        if (read === 0) return
        let from = 0
        for (let to = block.indexOf(LF); to >= 0 && to < read; to = block.indexOf(LF, from)) {
          parts.push(block.subarray(from, to))
          yield Buffer.concat(parts).toString()
          parts.length = 0
          from = to + 1
        }
        parts.push(Buffer.from(block.subarray(from, read)))
        at += read
      }
    },
    last() {
      const start = lineStart(fd, size)
      return start === undefined ? undefined : readText(fd, start, size - 1)
    },
    dropLast() {
      const start = lineStart(fd, size)
      if (start === undefined) return
      guard('repair', path, () => fs.ftruncateSync(fd, start))
      size = start
    },
    sync() {
      if (broken) throw broken
      if ((!dirty && asked === 0) || closed) return
      dirty = false
      try {
        fs.fdatasyncSync(fd)
      } catch (error) {
        // The kernel may have dropped the pages: what was written may be lost, so nothing may follow.
        broken = diskFault('sync', path, error)
        throw broken
      }
    },
    syncSoon() {
      if (!dirty || broken || closed) return
      dirty = false
      asked++
      fs.fdatasync(fd, (error) => {
        // After a close without waiting, the error is not wanted.
        if (error && !closed) broken ??= diskFault('sync', path, error)
        if (--asked > 0) return
        for (const tell of waiting) tell()
        waiting = []
        if (closed) fs.closeSync(fd)
      })
    },
    async settled() {
      if (asked > 0) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    close() {
      if (closed) return
      closed = true
      // During a background sync the descriptor must not be reused; the callback closes it then.
      if (asked === 0) fs.closeSync(fd)
    },
  }

  try {
    size = fs.fstatSync(fd).size
    repair()
  } catch (error) {
    file.close()
    throw Fault.is(error) ? error : diskFault('open', path, error)
  }
  return file

  function repair(): void {
    const end = size === 0 || byteAt(fd, size - 1) === LF ? size : lineStart(fd, size + 1)!
    let whole = 0
    for (const { bytes, next } of linesBack(fd, end)) {
      if (!isJson(bytes)) continue
      whole = next
      break
    }
    if (whole === size) return
    guard('repair', path, () => fs.ftruncateSync(fd, whole))
    size = whole
  }
}

/**
 * The non-empty lines before `end`, the last one first: their bytes without LF, and where the next one
 * begins. Every block is read once, however many lines it has: a tail of a million line ends must not delay
 * the start.
 */
function* linesBack(fd: number, end: number): Generator<{ bytes: Buffer; next: number }, void> {
  /** The known part of the line whose start was not read yet, its end first. */
  let parts: Buffer[] = []
  let next = end
  const line = (first: Buffer) => {
    const bytes = parts.length === 0 ? first : Buffer.concat([...parts, first].reverse())
    parts = []
    return { bytes, next }
  }
  for (let to = end - 1; to > 0; to -= BLOCK) {
    const from = Math.max(0, to - BLOCK)
    const block = Buffer.allocUnsafe(to - from)
    let stop = readFully(fd, block, from, to)
    for (let at = stop - 1; at >= 0; at--) {
      if (block[at] !== LF) continue
      if (stop - at > 1 || parts.length > 0) yield line(block.subarray(at + 1, stop))
      next = from + at + 1
      stop = at
    }
    if (stop > 0) parts.push(block.subarray(0, stop))
  }
  if (parts.length > 0) yield line(Buffer.alloc(0))
}

/**
 * Start of the line that ends at `end` (its LF is the byte before `end`). Reads backwards, block by block.
 */
function lineStart(fd: number, end: number): number | undefined {
  if (end === 0) return undefined
  const block = Buffer.allocUnsafe(BLOCK)
  for (let to = end - 1; to > 0; ) {
    const from = Math.max(0, to - BLOCK)
    const read = readFully(fd, block, from, to)
    const at = block.subarray(0, read).lastIndexOf(LF)
    if (at >= 0) return from + at + 1
    to = from
  }
  return 0
}

function byteAt(fd: number, at: number): number | undefined {
  const one = Buffer.alloc(1)
  fs.readSync(fd, one, 0, 1, at)
  return one[0]
}

function readText(fd: number, from: number, to: number): string {
  const bytes = Buffer.allocUnsafe(to - from)
  return bytes.toString('utf8', 0, readFully(fd, bytes, from, to))
}

function readFully(fd: number, into: Buffer, from: number, to: number): number {
  let read = 0
  while (from + read < to) {
    const got = fs.readSync(fd, into, read, to - from - read, from + read)
    if (got === 0) break
    read += got
  }
  return read
}

function isJson(line: Buffer): boolean {
  // Checked before parsing, because an exception costs more than a short line.
  if (!OPENS.includes(line[0]!) || !CLOSES.includes(line.at(-1)!)) return false
  try {
    JSON.parse(line.toString())
    return true
  } catch {
    return false
  }
}

/** First and last bytes that a line of JSON may have. */
const OPENS = Buffer.from('{["-0123456789tfn \t\r')
const CLOSES = Buffer.from('}]"0123456789el \t\r')

function guard<T>(what: string, path: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw diskFault(what, path, error)
  }
}
