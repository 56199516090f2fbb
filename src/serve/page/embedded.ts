import type { AgentEvent } from '../../events/event.ts'
import type { RunInfo } from '../run-info.ts'
import { pause, type RunSource, type StreamName } from './source.ts'

/** The id of the `<script type="application/json">` with the data of a page that needs no server. */
export const EMBEDDED_ID = 'sluice-data'

/** The data of a page, as JSON. Write each `<` as `\u003c`: no text may end the script element. */
export interface EmbeddedData {
  readonly version: 1
  readonly runs: readonly EmbeddedRun[]
  /** Number of secrets that were hidden; the page shows it. Missing if nothing was redacted. */
  readonly redacted?: number
}

/** One run: its info from `/runs`, all its events in order, and the bytes of its streams, unless redacted. */
export interface EmbeddedRun {
  readonly info: RunInfo
  readonly events: readonly AgentEvent[]
  /** A stream, or a part of it, that is missing here is shown as left out. */
  readonly streams: readonly EmbeddedStream[]
}

/** The bytes of one stream of one attempt, or some parts of them. */
export interface EmbeddedStream extends StreamName {
  /** The size of the log in bytes, whether they are here or not. */
  readonly total: number
  /** In order, without overlap, byte for byte as in the log: the ranges of events stay valid. */
  readonly pieces: readonly { readonly from: number; readonly base64: string }[]
}

/** Number of events to pass on at once. */
const SLICE = 2000

/** The runs inside the document: no server is contacted. */
export function embeddedSource(data: EmbeddedData): RunSource {
  const runOf = (id: string) => data.runs.find(({ info }) => info.id === id)
  return {
    live: false,
    redacted: data.redacted,
    async runs(take) {
      take(data.runs.map(({ info }) => info))
      return true
    },
    open(id, reader) {
      let open = true
      const hand = async () => {
        const events = runOf(id)?.events ?? []
        for (let at = 0; at < events.length && open; at += SLICE) {
          reader.take(events.slice(at, at + SLICE))
          await pause()
        }
        if (open) reader.connection('over')
      }
      hand()
      return {
        resume() {},
        close() {
          open = false
        },
      }
    },
    async bytes(id, { attempt, stream, from, to }) {
      const found = runOf(id)?.streams.find((one) => one.attempt === attempt && one.stream === stream)
      if (!found) return { bytes: new Uint8Array(0), total: 0 }
      return { bytes: cut(found, from, Math.min(to, found.total)), total: found.total }
    },
  }
}

/** The bytes `[from, to)`; a part that was left out is filled with full stops. */
function cut(stream: EmbeddedStream, from: number, to: number): Uint8Array {
  const bytes = new Uint8Array(Math.max(0, to - from)).fill(LEFT_OUT)
  for (const { from: begin, base64 } of stream.pieces) {
    // Four letters are three bytes: most pieces outside the range need not be decoded to see it.
    if (begin >= to || begin + (base64.length / 4) * 3 <= from) continue
    const piece = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
    const first = Math.max(begin, from)
    bytes.set(piece.subarray(first - begin, to - begin), first - from)
  }
  return bytes
}

/** A full stop: one byte, so that the ranges stay valid. */
const LEFT_OUT = 46
