import type { Event } from '../../events/event.ts'
import type { RunInfo } from '../run-info.ts'

/** The id of the element that holds the data of a page that needs no server: `<script type="application/json" id="sluice-data">`. */
export const EMBEDDED_ID = 'sluice-data'

/**
 * What a page that needs no server holds, as JSON. Write every `<` of it as `\u003c`, so that no text in it can end the script
 * element.
 */
export interface EmbeddedData {
  readonly version: 1
  readonly runs: readonly EmbeddedRun[]
  /** How many secrets were hidden; the page says so. Missing if none were looked for. */
  readonly redacted?: number
}

/** One run: what `/runs` says of it, all its events in order, and the bytes of its streams. */
export interface EmbeddedRun {
  readonly info: RunInfo
  readonly events: readonly Event[]
  /** A stream that is not here, or a stretch of it, is shown as left out. */
  readonly streams: readonly EmbeddedStream[]
}

/** The bytes of one stream of one attempt, or some stretches of them. */
export interface EmbeddedStream {
  readonly attempt: number
  readonly stream: string
  /** How many bytes the log has, whether they are here or not. */
  readonly total: number
  /**
   * In order, without overlap. A piece has as many bytes as the stretch of the log that it stands for, so that the byte ranges of
   * events still fit: what is hidden is overwritten, not cut out.
   */
  readonly pieces: readonly { readonly from: number; readonly base64: string }[]
}
