import type { AgentEvent } from '../../events/event.ts'
import type { RunInfo } from '../run-info.ts'
import type { Place } from './address.ts'
import type { Connection, OpenRun } from './source.ts'

/** What is known of the page: what it shows follows from this, and nothing is read back from the document. */
export interface PageState {
  /** Where the reader is; the address has all of it. */
  place: Place
  /** The list as the reader left it. */
  listed: Place
  runs: readonly RunInfo[]
  /** Whether the server answered when it was last asked for the list. */
  reached: boolean
  /** The run whose events are on the page. */
  run: OpenedRun | undefined
  /** What is on the page; the place says what should be. */
  pane: Pane
}

type Pane = 'runs' | 'run' | 'bytes' | 'beside'

/** Made anew when another run is opened. */
export interface OpenedRun {
  readonly id: string
  /** The engine that the reader has chosen for it. */
  readonly as: string | undefined
  feed?: OpenRun
  connection?: Connection
  /** Why its events cannot be read to the end. */
  fault: string
  /** Its last events were drawn. */
  settled: boolean
  /** The events of a run whose raw bytes are hidden: they are shown in the place of the bytes. */
  kept: AgentEvent[] | undefined
  /** The event and the search in the address, until there are events. */
  event: Place['event']
  sought: string | undefined
}

/** What belongs on the page at a place. */
export function paneAt({ run, beside, query }: Place): Pane {
  if (beside) return 'beside'
  if (run === undefined) return 'runs'
  return query['bytes'] === undefined ? 'run' : 'bytes'
}
