import type { Note } from '../../src/base/fault.ts'
import { drive } from '../../src/base/stage.ts'
import { scanStage } from '../../src/frames/frames.ts'
import type { Channel, Chunk } from '../../src/text/chunk.ts'
import type { CutFrame, CutOptions } from './reference.ts'

/** The real scanner over the given cuts of one channel. */
export function scan(pieces: Iterable<Uint8Array>, options: CutOptions = {}): CutFrame[] {
  const { channel = 'stdout', ...rest } = options
  return drive(scanStage(rest), chunks(pieces, channel))
}

function* chunks(pieces: Iterable<Uint8Array>, channel: Channel): Generator<Chunk> {
  for (const bytes of pieces) yield { channel, bytes }
}

export function toBytes(input: string | Buffer): Buffer {
  return typeof input === 'string' ? Buffer.from(input) : input
}

/** Every way to cut the input in two, the empty ends included. */
export function* everySplit(bytes: Buffer): Generator<Buffer[]> {
  for (let at = 0; at <= bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)]
}

/** One byte at a time. Each piece is a copy, so that nothing can peek at its neighbours. */
export function byteByByte(bytes: Buffer): Buffer[] {
  return [...bytes].map((byte) => Buffer.from([byte]))
}

/** Pieces of the given sizes, over and over; a size of 0 is an empty chunk. */
export function inSizes(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  const step = sizes.some((size) => size > 0) ? sizes : [1]
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = step[turn % step.length]!
    pieces.push(Buffer.from(bytes.subarray(at, at + size)))
    at += size
  }
  return pieces
}

/** The ways in which each hostile input is fed: whole, every split, byte by byte, odd sizes. */
export function* manyWays(bytes: Buffer): Generator<Buffer[]> {
  yield [bytes]
  yield* everySplit(bytes)
  yield byteByByte(bytes)
  yield inSizes(bytes, [1, 0, 2, 0, 0, 3])
  yield inSizes(bytes, [7, 1, 0, 5])
}

/**
 * A frame in one line, for a person to read: `tag(json) 0..20 {"a":1}`, `text 3..9`, `blank 9..10`.
 * Flags come before the text, notes after an exclamation mark.
 */
export function brief(frame: CutFrame): string {
  const kind = frame.kind === 'text' && frame.blank ? 'blank' : frame.kind
  const label = frame.label === undefined ? '' : `(${frame.label})`
  const broken = frame.broken === undefined ? '' : ` broken@${frame.broken}`
  const names = ['open', 'first', 'attached', 'aside', 'in_fence'] as const
  const flags = `${names.map((name) => (frame[name] ? ` ${name}` : '')).join('')}${broken}`
  const notes = (frame.notes ?? [])
    .map((note) => ` !${place(note)}`)
    .sort()
    .join('')
  const text = frame.kind === 'text' ? '' : ` ${frame.text}`
  return `${kind}${label} ${frame.from}..${frame.to}${flags}${notes}${text}`
}

/** The frames of an input as a row of the corpus writes them; `x×40` is forty times `x`. */
export function briefs(frames: readonly CutFrame[]): string {
  const line = frames.map(brief).join(' | ')
  return line.replace(/(.)\1{29,}/gs, (run, character: string) => `${character}×${run.length}`)
}

/** What has to be equal between two scanners; the words of a note are free. */
export function shape(frame: CutFrame): object {
  const { notes, ...rest } = frame
  if (!notes?.length) return rest
  return { ...rest, notes: notes.map(place).sort() }
}

/** A note without its words. Only for bad bytes do the rules name a place. */
function place(note: Note): string {
  return note.code === 'INVALID_UTF8' ? `${note.code}@${note.at}` : note.code
}

/** What is wrong with how frames tile `size` bytes, or undefined. */
export function tilingFault(frames: readonly CutFrame[], size: number): string | undefined {
  let covered = 0
  for (const frame of frames) {
    if (frame.from !== covered) return `${brief(frame)} should start at ${covered}`
    if (frame.to <= frame.from) return `${brief(frame)} is empty`
    covered = frame.to
  }
  return covered === size ? undefined : `the frames end at ${covered} of ${size}`
}
