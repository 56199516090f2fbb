import type { Event } from '../../events/event.ts'
import type { RunInfo } from '../run-info.ts'

/**
 * The id of the element with the data of a page that needs no server: `<script type="application/json"
 * id="sluice-data">`.
 */
export const EMBEDDED_ID = 'sluice-data'

/**
 * The data of a page that needs no server, as JSON. Write every `<` of it as `\u003c`, so that no text in it
 * can end the script element.
 */
export interface EmbeddedData {
  readonly version: 1
  readonly runs: readonly EmbeddedRun[]
  /** Number of secrets that were hidden; the page shows it. Missing if nothing was redacted. */
  readonly redacted?: number
}

/** One run: its info from `/runs`, all its events in order, and the bytes of its streams, unless redacted. */
export interface EmbeddedRun {
  readonly info: RunInfo
  readonly events: readonly Event[]
  /** A stream, or a part of it, that is missing here is shown as left out. */
  readonly streams: readonly EmbeddedStream[]
}

/** The bytes of one stream of one attempt, or some parts of them. */
export interface EmbeddedStream {
  readonly attempt: number
  readonly stream: string
  /** The size of the log in bytes, whether they are here or not. */
  readonly total: number
  /**
   * In order, without overlap. A piece has exactly the bytes of that part of the log, so that the byte ranges
   * of events stay valid.
   */
  readonly pieces: readonly { readonly from: number; readonly base64: string }[]
}
