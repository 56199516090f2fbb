import fs from 'node:fs'
import { Socket } from 'node:net'
import { Fault } from '../base/fault.ts'
import { meaningOfCode } from '../base/system-error-code.ts'

/**
 * Writes text to stdout at the speed of its reader. False once the reader has left (`| head`): then the
 * command stops, and decides what that means. Any other failure is thrown as OUTPUT_FAILED.
 */
export function output(): (text: string) => Promise<boolean> {
  const stdout = outputOf(process.stdout)
  return (text) => stdout.write(text)
}

/** Waits until all is written to stdout. False if its reader has left; else a failure is OUTPUT_FAILED. */
export function flushed(): Promise<boolean> {
  return outputOf(process.stdout).flushed()
}

/** Ignores errors of stderr: there is no other place left to report them. */
export function toleratingStderr(): void {
  const { stderr } = process
  if (!stderr.listeners('error').includes(ignore)) stderr.on('error', ignore)
}

function ignore(): void {}

/** One per stream, so that stdout has one listener, however many parts of a command write to it. */
const outputs = new WeakMap<NodeJS.WriteStream, Output>()

function outputOf(stream: NodeJS.WriteStream): Output {
  const output = outputs.get(stream) ?? new Output(stream)
  outputs.set(stream, output)
  return output
}

/** A class, because it is the state of one stream for the life of the process. */
class Output {
  readonly #stream: NodeJS.WriteStream
  readonly #fd: number | undefined
  #failure: NodeJS.ErrnoException | undefined
  #waiting: (() => void)[] = []
  /** Lines of JSON that are written together, as a system call takes longer than most of them. */
  #block = Buffer.alloc(0)
  #length = 0
  readonly #writeLines = () => void this.#flushLines()

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    this.#fd = fileOf(stream)
    stream.on('error', (error) => {
      this.#failure ??= error
      this.#wake()
    })
    stream.on('drain', () => this.#wake()).on('close', () => this.#wake())
  }

  async write(text: string): Promise<boolean> {
    this.#flushLines()
    if (text !== '') this.#write(Buffer.from(text))
    if (!this.#failure && this.#stream.writableNeedDrain) await this.#wait()
    return this.#isOpen()
  }

  /**
   * Adds a line of JSON. The first one of a block is written at once: a reader that leaves after it is
   * noticed. The others are written when they fill the block, at the latest when the event loop turns, so
   * that nothing live is delayed. On a terminal each is written at once: a question may follow it.
   */
  print(line: string): true | Promise<boolean> {
    // Writes into a block: `Buffer.from` takes ten times as long for ASCII, and twice as long for other text.
    const fits = line.length * MAX_UTF8 <= this.#block.length - this.#length
    if (!fits) this.#makeRoom(line.length * MAX_UTF8)
    if (this.#length === 0) setImmediate(this.#writeLines)
    const length = this.#block.write(line, this.#length)
    const bytes = this.#block.subarray(this.#length, this.#length + length)
    // In ASCII only DEL is unsafe, and it is looked for in the whole block.
    if (length !== line.length && steers(line, bytes)) return this.print(harmless(line))
    this.#length += length
    const { isTTY, writableNeedDrain } = this.#stream
    return fits && !isTTY && !writableNeedDrain && !this.#failure ? true : this.write('')
  }

  async flushed(): Promise<boolean> {
    this.#flushLines()
    if (this.#fd === undefined && !this.#failure && !this.#stream.destroyed) {
      // The callback of a write comes after everything that was written before it.
      this.#stream.write('', () => this.#wake())
      await this.#wait()
    }
    return this.#isOpen()
  }

  #makeRoom(bytes: number): void {
    this.#flushLines()
    const { length } = this.#block
    if (length < bytes || length > MAX_KEPT) this.#block = Buffer.allocUnsafeSlow(Math.max(bytes, BLOCK))
  }

  #flushLines(): void {
    if (this.#length === 0) return
    const lines = this.#block.subarray(0, this.#length)
    this.#length = 0
    if (lines.includes(DEL)) this.#write(Buffer.from(harmless(lines.toString())))
    // A pipe may hold what it is given for a while.
    else this.#write(this.#fd === undefined ? Buffer.from(lines) : lines)
  }

  #write(bytes: Buffer): void {
    if (this.#failure) return
    if (this.#fd === undefined) this.#stream.write(bytes)
    else this.#writeFile(this.#fd, bytes)
  }

  /** Node takes a short write for a complete one, and loses the last bytes before a disk is full. */
  #writeFile(fd: number, bytes: Buffer): void {
    try {
      for (let at = 0; at < bytes.length; ) at += fs.writeSync(fd, bytes, at)
    } catch (error) {
      this.#failure = error as NodeJS.ErrnoException // cast: a system call throws system errors
    }
  }

  #isOpen(): boolean {
    if (!this.#failure) return true
    const { code = 'unknown' } = this.#failure
    if (code === 'EPIPE') return false
    const why = meaningOfCode(code, 'it is broken')
    throw new Fault(
      'OUTPUT_FAILED',
      `cannot write to stdout (${code}): ${why}; the output before it is complete`,
      { cause: this.#failure },
    )
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resume of waiting) resume()
  }
}

/** The descriptor of a stdout that is a file or a device, not a pipe or a terminal. */
function fileOf(stream: NodeJS.WriteStream): number | undefined {
  // Cast: pipes and terminals are sockets, whatever their type says; Node gives each of them its descriptor.
  const { fd } = stream as { readonly fd?: number }
  return stream instanceof Socket ? undefined : fd
}

/** Bytes of lines to write at once. */
const BLOCK = 64 * 1024
/** A block that grew beyond this for a long line is not kept. */
const MAX_KEPT = 4 * 1024 * 1024
/** The most bytes of UTF-8 for a unit of a string. */
const MAX_UTF8 = 3

/** Prints lines of JSON on stdout. True at once while there is room; otherwise as `output`. */
export function linePrinter(): (line: string) => true | Promise<boolean> {
  const stdout = outputOf(process.stdout)
  return (line) => stdout.print(line)
}

/** Prints records on stdout, one JSON text per line. */
export function printer(): (record: object) => true | Promise<boolean> {
  const print = linePrinter()
  return (record) => print(`${JSON.stringify(record)}\n`)
}

const DEL = 0x7f
const unsafe = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/**
 * JSON escapes only C0. DEL, C1 (which contains one-byte CSI and OSC), line separators and bidirectional
 * overrides can control a terminal too, so they are escaped: in a JSON string that means the same.
 */
export function harmless(json: string): string {
  return json.replace(unsafe, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Whether there is such a character in a line that is not ASCII. */
function steers(line: string, bytes: Buffer): boolean {
  return LEADS.some((lead) => bytes.includes(lead)) && line.search(unsafe) >= 0
}

/**
 * How those characters begin in UTF-8: a search for bytes is far faster than the pattern. Of three bytes the
 * first two, because arrows, check marks and boxes begin with E2 as well.
 */
const LEADS = [[0xc2], [0xd8, 0x9c], [0xe2, 0x80], [0xe2, 0x81]].map((lead) => Buffer.from(lead))
