import fs from 'node:fs'
import type { Event } from '../events/event.ts'
import { openPlain } from '../sinks/plain-file.ts'
import { sseRecord } from '../sinks/sse.ts'

/** A stretch of the journal as it goes to a client: whole lines, spelled as SSE. */
export interface Block {
  readonly bytes: Buffer
  /** Where the next one begins. */
  readonly next: number
}

const LF = 10
const BLOCK = 64 * 1024
/** A single event larger than this is left out; the journal has it. */
const MAX_LINE = 64 << 20
/** Blocks of so many bytes are kept together, because readers at the same place want the same one. */
const MAX_CACHED = 4 << 20
const POLL_MS = 250
/** The file is asked whether it is still the same at most so often: five hundred readers wake at once. */
const CHECK_MS = 5

/**
 * The journal of one run, for any number of readers. Each has its own place in the file, so the file is the queue: a slow
 * reader costs the one block it is being sent and nobody else a thing. Readers at the same place, as all live ones are,
 * share the block, which is read and spelled once.
 */
export class Feed {
  readonly #path: string
  #fd: number | undefined
  readonly #blocks = new Map<number, Block>()
  #cached = 0
  #checked = Number.NEGATIVE_INFINITY
  /** Which event each full block begins with, so that a place is found without reading everything. */
  #marks: { attempt: number; seq: number; at: number }[] = []
  #marked = 0
  #head = ''
  /** Counts the times the file was truncated or replaced. */
  generation = 0
  readonly #waiting = new Set<() => void>()
  #watcher: fs.FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** The block that begins at this place, or undefined if there is no whole line there yet. */
  read(at: number): Block | undefined {
    this.#check()
    if (this.#fd === undefined) return undefined
    const cached = this.#blocks.get(at)
    if (cached) return cached
    const lines = this.#lines(at)
    if (lines.length === 0) return undefined
    const block = { bytes: Buffer.from(spell(lines)), next: at + lines.length }
    this.#blocks.set(at, block)
    this.#cached += block.bytes.length
    for (const [place, old] of this.#blocks) {
      if (this.#cached <= MAX_CACHED) break
      this.#blocks.delete(place)
      this.#cached -= old.bytes.length
    }
    return block
  }

  /** The id of the run whose events these are, if there are any. */
  get run_id(): string | undefined {
    this.#check()
    return this.#fd === undefined ? undefined : eventOf(this.#lines(0))?.run_id
  }

  /** The place right after an event, or undefined if it is not there. */
  after(attempt: number, seq: number): number | undefined {
    this.#check()
    this.#index()
    if (this.#fd === undefined) return undefined
    const mark = this.#marks.findLast((mark) => order(mark.attempt, mark.seq, attempt, seq) <= 0)
    for (let at = mark?.at ?? 0; ; ) {
      const lines = this.#lines(at)
      if (lines.length === 0) return undefined
      for (let from = 0; from < lines.length; ) {
        const to = lines.indexOf(LF, from) + 1
        const event = eventOf(lines.subarray(from, to))
        const place = event ? order(event.attempt_number, event.seq, attempt, seq) : -1
        if (place === 0) return at + to
        if (place > 0) return undefined
        from = to
      }
      at += lines.length
    }
  }

  /** Waits until something may have changed. */
  async more(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    this.#watch()
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#waiting.add(done)
      signal.addEventListener('abort', done)
    })
    if (this.#waiting.size === 0) this.#unwatch()
  }

  close(): void {
    for (const wake of this.#waiting) wake()
    this.#unwatch()
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
    this.#fd = undefined
    this.#blocks.clear()
  }

  /** Notices a journal that appeared, shrank or was replaced. */
  #check(): void {
    if (performance.now() - this.#checked < CHECK_MS) return
    this.#checked = performance.now()
    if (this.#fd !== undefined) {
      const same = fs.lstatSync(this.#path, { throwIfNoEntry: false })?.ino === fs.fstatSync(this.#fd).ino
      const head = this.#readText(0, this.#head.length)
      if (same && head === this.#head) {
        if (this.#head.length < 64) this.#head = this.#readText(0, 64)
        return
      }
      fs.closeSync(this.#fd)
      this.#fd = undefined
      this.generation++
      this.#blocks.clear()
      this.#cached = 0
      this.#marks = []
      this.#marked = 0
    }
    try {
      this.#fd = openPlain(this.#path)
    } catch {
      return
    }
    this.#head = this.#readText(0, 64)
  }

  #readText(from: number, length: number): string {
    const bytes = Buffer.alloc(length)
    return bytes.toString('latin1', 0, fs.readSync(this.#fd!, bytes, 0, length, from))
  }

  /** Whole lines from this place on: about 64 KiB of them, or one that is longer. */
  #lines(at: number): Buffer {
    for (let size = BLOCK; size <= MAX_LINE; size *= 4) {
      const bytes = Buffer.allocUnsafe(size)
      const length = fs.readSync(this.#fd!, bytes, 0, size, at)
      const end = bytes.lastIndexOf(LF, length - 1) + 1
      if (length > 0 && end > 0) return bytes.subarray(0, end)
      if (length < size) break
    }
    return Buffer.alloc(0)
  }

  #index(): void {
    if (this.#fd === undefined) return
    for (;;) {
      const lines = this.#lines(this.#marked)
      // The last block still grows; it is marked when it is full.
      if (lines.length < BLOCK / 2) return
      const first = eventOf(lines)
      if (first) this.#marks.push({ attempt: first.attempt_number, seq: first.seq, at: this.#marked })
      this.#marked += lines.length
    }
  }

  #watch(): void {
    const wake = () => {
      for (const waiting of [...this.#waiting]) waiting()
    }
    this.#timer ??= setInterval(wake, POLL_MS)
    if (this.#watcher) return
    try {
      this.#watcher = fs.watch(this.#path, { persistent: false }, wake)
      this.#watcher.on('error', () => this.#unwatch())
    } catch {
      // The file is not there yet, or there are no watchers left: the timer is enough.
    }
  }

  #unwatch(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#watcher?.close()
    this.#watcher = undefined
  }
}

function order(attempt: number, seq: number, otherAttempt: number, otherSeq: number): number {
  return attempt - otherAttempt || seq - otherSeq
}

function spell(lines: Buffer): string {
  let text = ''
  for (let from = 0; from < lines.length; ) {
    const to = lines.indexOf(LF, from) + 1
    const event = eventOf(lines.subarray(from, to))
    // A line that is no event, or whose id could forge a message, is left out: the journal is not ours alone.
    if (event) text += event.spelled
    from = to
  }
  return text
}

/** The first line as an event, and how it is spelled; undefined if it is none. */
function eventOf(
  lines: Buffer,
): { run_id: string; attempt_number: number; seq: number; spelled: string } | undefined {
  const end = lines.indexOf(LF)
  if (end < 0) return undefined
  try {
    // The cast is the door: what is used is checked by use.
    const event = JSON.parse(lines.toString('utf8', 0, end)) as Event
    const { run_id, attempt_number, seq } = event
    if (typeof run_id !== 'string' || !Number.isSafeInteger(seq) || !Number.isSafeInteger(attempt_number))
      return undefined
    return { run_id, attempt_number, seq, spelled: sseRecord(event) }
  } catch {
    return undefined
  }
}
