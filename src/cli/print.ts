import fs from 'node:fs'
import { Socket } from 'node:net'
import { Fault, isUnsafe } from '../base/fault.ts'

/**
 * Writes text to stdout at the speed of its reader. False once the reader has left (`| head`): then the
 * command stops, and decides what that means. Any other failure is thrown as OUTPUT_FAILED.
 */
export function output(): (text: string) => Promise<boolean> {
  const stdout = outputOf(process.stdout)
  return (text) => stdout.write(text)
}

/** Waits until everything is written to stdout; throws OUTPUT_FAILED if that fails. */
export async function flushed(): Promise<void> {
  await outputOf(process.stdout).flushed()
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
    if (this.#failure) return this.#isOpen()
    if (this.#fd !== undefined) this.#writeFile(this.#fd, text)
    else if (!this.#stream.write(text)) await this.#wait()
    return this.#isOpen()
  }

  async flushed(): Promise<void> {
    if (this.#fd === undefined && !this.#failure && !this.#stream.destroyed) {
      // The callback of a write comes after everything that was written before it.
      this.#stream.write('', () => this.#wake())
      await this.#wait()
    }
    this.#isOpen()
  }

  /**
   * Node treats a short write as a complete one: the last bytes before a disk is full would be lost without
   * an error.
   */
  #writeFile(fd: number, text: string): void {
    const bytes = Buffer.from(text)
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
    const why = reasons.get(code) ?? 'it is broken'
    throw new Fault(
      'OUTPUT_FAILED',
      `cannot write to stdout (${code}): ${why}; the output before it is complete`,
      {
        cause: this.#failure,
      },
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

const reasons = new Map([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the quota is used up'],
  ['EFBIG', 'the file is larger than allowed here'],
  ['EIO', 'the disk or the terminal reports an error'],
])

/** The descriptor of a stdout that is a file or a device, not a pipe or a terminal. */
function fileOf(stream: NodeJS.WriteStream): number | undefined {
  // Cast: pipes and terminals are sockets, whatever their type says; Node gives each of them its descriptor.
  const { fd } = stream as { readonly fd?: number }
  return stream instanceof Socket ? undefined : fd
}

/** Prints records on stdout, one JSON text per line. */
export function printer(): (record: object) => Promise<boolean> {
  const write = output()
  return (record) => write(`${harmless(JSON.stringify(record))}\n`)
}

/**
 * JSON escapes only C0. DEL, C1 (which contains one-byte CSI and OSC), line separators and bidirectional
 * overrides can control a terminal too, so they are escaped here. They occur only in strings, where an
 * escape means the same.
 */
export function harmless(json: string): string {
  const pieces: string[] = []
  let copied = 0
  for (let i = 0; i < json.length; i++) {
    const unit = json.charCodeAt(i)
    if (unit < 0x7f || !isUnsafe(unit)) continue
    pieces.push(json.slice(copied, i), `\\u${unit.toString(16).padStart(4, '0')}`)
    copied = i + 1
  }
  return copied === 0 ? json : pieces.join('') + json.slice(copied)
}
