import fs from 'node:fs'
import { codeOf } from '../base/system-error-code.ts'
import { openPlain, readBlock } from './plain-file.ts'

const BLOCK = 64 * 1024
/** Number of bytes before the current position to remember, to detect a file that was rewritten. */
const MARK_SIZE = 64

/** Bytes that were read, and their position in the file. */
export interface TailPiece {
  readonly bytes: Buffer
  readonly from: number
  /** The file was truncated or replaced: this piece is from its new beginning. */
  readonly restarted: boolean
}

/**
 * Reads a file that another process is writing. Nothing is lost when it is rotated (the old one is read to
 * its end first), and a file that became shorter, or has other bytes than before just before the current
 * position, is read again from its start.
 */
export class Tail {
  readonly path: string
  readonly #within: string | undefined
  #fd: number | undefined
  readonly #mark = new Mark(MARK_SIZE)
  #restarted = false

  /** `within` as in `openPlain`; `fd` if the file is open already. */
  constructor(path: string, within?: string, fd?: number) {
    this.path = path
    this.#within = within
    this.#fd = fd
  }

  /** The next bytes, or undefined if there are none now. */
  read(): TailPiece | undefined {
    if (this.#fd === undefined && !this.#open()) return undefined
    if (!this.#mark.holds(this.#fd!)) this.#restart()
    let bytes = readBlock(this.#fd!, this.#mark.at, BLOCK)
    if (bytes.length === 0 && this.#reopen()) bytes = readBlock(this.#fd!, 0, BLOCK)
    if (bytes.length === 0) return undefined
    const piece = { bytes, from: this.#mark.at, restarted: this.#restarted }
    this.#restarted = false
    this.#mark.reach(piece.from, bytes)
    return piece
  }

  close(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
    this.#fd = undefined
  }

  #open(): boolean {
    try {
      this.#fd = openPlain(this.path, fs.constants.O_RDONLY, undefined, this.#within)
      return true
    } catch (error) {
      // The file may be there.
      if (codeOf(error) === 'EMFILE') throw error
      return false
    }
  }

  /** Switches to the regular file that replaced it; beside anything else, the old one may still grow. */
  #reopen(): boolean {
    if (!this.#replaced()) return false
    const old = this.#fd!
    if (!this.#open()) return false
    fs.closeSync(old)
    this.#restart()
    return true
  }

  #restart(): void {
    this.#mark.reset()
    this.#restarted = true
  }

  #replaced(): boolean {
    try {
      const there = fs.statSync(this.path)
      const here = fs.fstatSync(this.#fd!)
      return there.ino !== here.ino || there.dev !== here.dev
    } catch {
      // It is gone for now; the open file can still be read.
      return false
    }
  }
}

const NOTHING = Buffer.alloc(0)

/**
 * The last bytes before the furthest position read in a file: if the file has other bytes there now, or has
 * become shorter, it was rewritten.
 *
 * @example
 * const mark = new Mark(64)
 * mark.reach(0, bytes)
 * if (!mark.holds(fd)) startAgain()
 */
export class Mark {
  /** The furthest position read. */
  at = 0
  readonly #size: number
  #bytes = NOTHING

  constructor(size: number) {
    this.#size = size
  }

  /** Records that these bytes were read at this position. */
  reach(from: number, bytes: Buffer): void {
    const to = from + bytes.length
    if (to <= this.at) return
    // The remembered bytes continue where these begin; after a gap they are useless.
    const known = from > this.at ? 0 : Math.max(0, this.#bytes.length - (this.at - from))
    const whole = bytes.length >= this.#size ? bytes : Buffer.concat([this.#bytes.subarray(0, known), bytes])
    // A copy: a view would keep the whole block alive.
    this.#bytes = Buffer.from(whole.subarray(-this.#size))
    this.at = to
  }

  /** Whether the file still has these bytes there. */
  holds(fd: number): boolean {
    if (this.at === 0) return true
    const here = Buffer.alloc(this.#bytes.length)
    const read = fs.readSync(fd, here, 0, here.length, this.at - here.length)
    return read === here.length && here.equals(this.#bytes)
  }

  reset(): void {
    this.at = 0
    this.#bytes = NOTHING
  }
}
