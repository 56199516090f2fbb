import fs from 'node:fs'
import { openPlain } from './plain-file.ts'
import { Mark } from './rewrite-mark.ts'

const BLOCK = 64 * 1024
/** Number of bytes before the current position to remember, to detect a file that was rewritten. */
const MARK_SIZE = 64

/** Bytes that were read, and their position in the file. */
export interface Piece {
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

  constructor(path: string, within?: string) {
    this.path = path
    this.#within = within
  }

  /** The next bytes, or undefined if there are none now. */
  read(): Piece | undefined {
    if (this.#fd === undefined && !this.#open()) return undefined
    if (!this.#mark.holds(this.#fd!)) this.#restart()
    const block = Buffer.allocUnsafe(BLOCK)
    let length = fs.readSync(this.#fd!, block, 0, BLOCK, this.#mark.at)
    if (length === 0 && this.#reopen()) length = fs.readSync(this.#fd!, block, 0, BLOCK, 0)
    if (length === 0) return undefined
    const bytes = block.subarray(0, length)
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
    } catch {
      return false
    }
  }

  /**
   * Switches to the file that replaced it; anything but a regular file is ignored, because the old one may
   * still grow.
   */
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
