import fs from 'node:fs'
import { Fault } from '../base/fault.ts'
import { diskFault, onDisk } from '../base/system-error-code.ts'
import { isJson } from '../json/strict.ts'
import { LF } from '../text/characters.ts'
import { openPlain, readBlock } from './plain-file.ts'
import { type JournalLine, linesFrom } from './read-journal.ts'

const BLOCK = 64 * 1024

/**
 * A file of whole lines that is only ever appended to. Opened by one writer at a time.
 *
 * Opening it creates it if it is missing, and repairs its tail: anything after the last line that is JSON was
 * torn by a crash (half a line, or the zeros some file systems leave after a power loss) and is cut off.
 *
 * Writes are synchronous on purpose. A line is written before the record is passed on to the
 * next stage, so "passed on" means "stored", and no second queue has to be bounded; a line costs one
 * system call of a few microseconds.
 */
export class LineFile {
  readonly #path: string
  /** Undefined while it rests. */
  #fd: number | undefined
  /** Bytes of whole lines: the position of the next one. */
  #size = 0
  #closed = false
  #dirty = false
  /** Number of background syncs. */
  #asked = 0
  /** Called when there is none any more. */
  #waiting: (() => void)[] = []
  /** Why nothing may be written any more: after one failure a later line could follow a torn one. */
  #broken: Fault | undefined

  constructor(path: string) {
    this.#path = path
    this.#open()
  }

  /** Holds no descriptor until the next line, unless one waits for its sync. */
  rest(): void {
    if (this.#dirty || this.#fd === undefined) return
    fs.closeSync(this.#fd)
    this.#fd = undefined
  }

  /** Appends lines, each terminated by LF. When this returns, the file has all of them or nothing. */
  append(...lines: readonly string[]): void {
    if (this.#broken) throw this.#broken
    const fd = this.#open()
    const bytes = encoded(lines)
    let written = 0
    try {
      // A short write is not an error; the next call reports the reason.
      while (written < bytes.length) {
        written += fs.writeSync(fd, bytes, written, bytes.length - written, this.#size + written)
      }
    } catch (error) {
      this.#broken = diskFault('write', this.#path, error)
      // If this fails too, the torn tail stays and the next start repairs it; nothing is written after it.
      try {
        fs.ftruncateSync(fd, this.#size)
      } catch {}
      throw this.#broken
    }
    this.#size += bytes.length
    this.#dirty = true
  }

  /** All lines from the start, however long: the one who wrote them had them in memory, too. */
  lines(): Generator<JournalLine, void> {
    return linesFrom(this.#open(), 0, BLOCK, Number.POSITIVE_INFINITY)
  }

  /** The last line without its LF, or undefined in an empty file. */
  last(): string | undefined {
    return this.#last()?.bytes.toString()
  }

  dropLast(): void {
    const last = this.#last()
    if (last) this.#cut(last.next - last.bytes.length - 1)
  }

  /** Waits until the data is on the disk. */
  sync(): void {
    if (this.#broken) throw this.#broken
    if ((!this.#dirty && this.#asked === 0) || this.#closed) return
    this.#dirty = false
    try {
      fs.fdatasyncSync(this.#open())
    } catch (error) {
      // The kernel may have dropped the pages: what was written may be lost, so nothing may follow.
      this.#broken = diskFault('sync', this.#path, error)
      throw this.#broken
    }
  }

  /** Syncs in the background; an error is thrown by the next `append` or `sync`. */
  syncSoon(): void {
    if (!this.#dirty || this.#broken || this.#closed) return
    this.#dirty = false
    this.#asked++
    const fd = this.#open()
    fs.fdatasync(fd, (error) => {
      // After a close without waiting, the error is not wanted.
      if (error && !this.#closed) this.#broken ??= diskFault('sync', this.#path, error)
      if (--this.#asked > 0) return
      for (const tell of this.#waiting) tell()
      this.#waiting = []
      if (this.#closed) fs.closeSync(fd)
    })
  }

  /** Waits for all background syncs: only then does `sync` know all errors. */
  async settled(): Promise<void> {
    if (this.#asked > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    // During a background sync the descriptor must not be reused; the callback closes it then.
    if (this.#asked === 0 && this.#fd !== undefined) fs.closeSync(this.#fd)
  }

  #last() {
    return linesBack(this.#open(), this.#size).next().value
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd
    try {
      // Only a regular file: the agent that is being recorded may have write access to the directory.
      const fd = openPlain(this.#path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600)
      this.#fd = fd
      this.#size = fs.fstatSync(fd).size
      this.#repair(fd)
      return fd
    } catch (error) {
      this.rest()
      throw Fault.is(error) ? error : diskFault('open', this.#path, error)
    }
  }

  #repair(fd: number): void {
    const size = this.#size
    const torn = size > 0 && readBlock(fd, size - 1, 1)[0] !== LF
    let whole = 0
    for (const { bytes, next } of linesBack(fd, torn ? size + 1 : size)) {
      if (next > size || !isWholeLine(bytes)) continue
      whole = next
      break
    }
    if (whole !== size) this.#cut(whole)
  }

  #cut(size: number): void {
    onDisk('repair', this.#path, () => fs.ftruncateSync(this.#open(), size))
    this.#size = size
  }
}

/**
 * The non-empty lines before `end`, the last one first: their bytes without LF, and where the next one
 * begins. Every block is read once: a tail of a million line ends must not delay the start.
 */
function* linesBack(fd: number, end: number): Generator<{ bytes: Buffer; next: number }, undefined> {
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
    const block = readBlock(fd, from, to - from)
    let stop = block.length
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
 * Lines as bytes, in a block that is used again: `Buffer.from` takes ten times as long for ASCII. Line by
 * line, because one that is not ASCII would make the text of all of them twice as large.
 */
function encoded(lines: readonly string[]): Buffer {
  const most = MAX_UTF8 * lines.reduce((sum, { length }) => sum + length, 0)
  if (most > MAX_KEPT) return Buffer.from(lines.join(''))
  if (most > block.length) block = Buffer.allocUnsafeSlow(Math.max(most, BLOCK))
  let length = 0
  for (const line of lines) length += block.write(line, length)
  return block.subarray(0, length)
}

let block = Buffer.alloc(0)
/** The most bytes of UTF-8 for a unit of a string. */
const MAX_UTF8 = 3
const MAX_KEPT = 4 * 1024 * 1024

function isWholeLine(line: Buffer): boolean {
  // Checked before parsing, because an exception costs more than a short line.
  if (!OPENS.includes(line[0]!) || !CLOSES.includes(line.at(-1)!)) return false
  return isJson(line.toString())
}

/** First and last bytes that a line of JSON may have. */
const OPENS = Buffer.from('{["-0123456789tfn \t\r')
const CLOSES = Buffer.from('}]"0123456789el \t\r')
