import type { ChildProcess } from 'node:child_process'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { isObject, misfit } from '../base/check-options.ts'
import { Fault } from '../base/fault.ts'

/** Output of one channel that is not a child process; it counts as stdout. */
export type PlainSource =
  | string
  | Uint8Array
  | Readable
  | ReadableStream<Uint8Array | string>
  | AsyncIterable<Uint8Array | string>
  | Iterable<Uint8Array | string>
  | FetchedBody

/** The part of a `fetch` `Response` that is used. */
export interface FetchedBody {
  readonly body: ReadableStream<Uint8Array> | null
  readonly bodyUsed: boolean
}

const example = 'tap(child), tap(response), tap(stream), tap(text) or tap({ stdout, pty })'

/** A source of one channel as a Node stream; undefined for a child process and for several streams. */
export function plainStream(source: unknown): Readable | undefined {
  if (typeof source === 'string' || source instanceof Uint8Array) return Readable.from([source])
  if (Array.isArray(source)) return Readable.from(source)
  if (!isObject(source))
    throw misfit('tap', 'a child process, a stream, a Response or a text', source, example)
  if ('spawnfile' in source) return undefined
  if ('body' in source && 'bodyUsed' in source) return bodyOf(source as FetchedBody)
  if ('getReader' in source) return fromWeb(source as ReadableStream)
  if ('pipe' in source && 'on' in source) return source as Readable
  if (Symbol.asyncIterator in source || Symbol.iterator in source)
    return Readable.from(source as Iterable<string>)
  return undefined
}

function bodyOf({ body, bodyUsed }: FetchedBody): Readable {
  if (bodyUsed)
    throw new Fault(
      'BAD_OPTION',
      'the body of this Response was read before; tap it instead of calling text() or json()',
    )
  return body === null ? Readable.from([]) : fromWeb(body)
}

function fromWeb(stream: ReadableStream): Readable {
  if (stream.locked)
    throw new Fault(
      'BAD_OPTION',
      'this stream is locked to another reader; tap it before it is read, or tee() it',
    )
  return Readable.fromWeb(stream, { objectMode: true })
}

/** Whether it is the handle of a child process. */
export function isChild(source: object): source is ChildProcess {
  return 'spawnfile' in source
}
