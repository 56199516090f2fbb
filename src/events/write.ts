import { badOption, type Fault } from '../base/fault.ts'
import type { Sink } from '../base/stage.ts'
import type { Channel } from '../text/chunk.ts'
import type { Engine } from './engine.ts'
import type { AgentEvent, Category, EventData, EventParser, EventType, RawRef } from './event.ts'

/** The bytes of a channel that events are about. */
export interface Range {
  readonly channel: Channel
  readonly from: number
  readonly to: number
}

/** Number of places to remember because they were reported about again. */
const MAX_PLACES = 65_536

interface WriterOptions {
  readonly runId: string
  readonly attempt: number
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Each event has the record that it was read from. */
  readonly record?: boolean | undefined
}

/** The range of a Date, in milliseconds. */
const MAX_TIME = 8.64e15

/** Calls the caller's clock. If it throws, the Fault says so. */
function ask(clock: () => number): number {
  try {
    return clock()
  } catch (cause) {
    throw badOption('the clock threw; it must return milliseconds since 1970', { cause })
  }
}

function noTime(now: unknown): Fault {
  // Nothing awaits the promise, and its rejection must not end the process.
  if (now instanceof Promise) now.catch(() => {})
  const said = typeof now === 'number' ? now : `a ${typeof now}`
  return badOption(`the clock must return milliseconds since 1970, but returned ${said}`)
}

/** Numbers events, and gives them their time, source, session and place. */
export function writer(options: WriterOptions, next: Sink<AgentEvent>) {
  const { runId, attempt, clock } = options
  const prefix = `${runId}:${attempt}:`
  let seq = 0
  let session: string | undefined
  let engine: Pick<Engine, 'name' | 'parser'> = { name: '', parser: '' }
  /** What the events are about at the moment; undefined for the end of the run. */
  let range: Range | undefined
  /** Events were already written about this range: the index continues. */
  let again = true
  /** The value of the last record: a message in pieces is read from the one that ends it. */
  let value: unknown
  let index = 0
  const counts = new Map<Channel | 'end', (place: string) => number>()
  /** The range as text, made once for all of its events. */
  let placeText: string | undefined
  /** Nearly every range begins where the last one ended: its number is written once. */
  let lastEnd = 0
  let lastEndText = '0'
  const sources = new Map<number, EventParser>()
  let lastSource: EventParser | undefined
  let lastTime = Number.NaN
  let lastStamp = ''

  const stamp = () => {
    const now = ask(clock)
    if (now !== lastTime) {
      if (!(Math.abs(now) <= MAX_TIME)) throw noTime(now)
      lastTime = now
      lastStamp = new Date(now).toISOString()
    }
    return lastStamp
  }

  /** Reuses objects: a run has millions of events, but few sources and types. */
  const sourceOf = (confidence: number): EventParser => {
    if (lastSource?.confidence === confidence) return lastSource
    let source = sources.get(confidence)
    if (!source) {
      source = Object.freeze({ engine: engine.name, parser: engine.parser, confidence })
      sources.set(confidence, source)
    }
    lastSource = source
    return source
  }

  const textOf = ({ channel, from, to }: Range): string => {
    const start = from === lastEnd ? lastEndText : `${from}`
    if (to !== lastEnd) lastEndText = `${to}`
    lastEnd = to
    return `${channel}:${start}-${lastEndText}`
  }

  const nextIndex = (place: string): number => {
    const channel = range?.channel ?? 'end'
    let count = counts.get(channel)
    if (!count) {
      count = counter()
      counts.set(channel, count)
    }
    return count(place)
  }

  const refOf = (place: Range | undefined): RawRef | undefined =>
    place && {
      attempt_number: attempt,
      stream: place.channel,
      byte_from: place.from,
      byte_to: place.to,
      encoding: 'utf-8',
    }

  return {
    refOf,
    write<T extends EventType>(type: T, data: EventData[T], confidence: number): void {
      placeText ??= range ? textOf(range) : 'end'
      const place = placeText
      const event_id = `${prefix}${place}:${again ? `+${nextIndex(place)}` : index++}`
      const event = {
        protocol_version: 'rasp/1.0' as const,
        type,
        run_id: runId,
        seq: ++seq,
        ts: stamp(),
        source: sourceOf(confidence),
        event: kindOf(type),
        data,
        correlation: session === undefined ? { event_id } : { session_id: session, event_id },
        attempt_number: attempt,
        raw_ref: refOf(range) ?? null,
      }
      if (options.record && range && value !== undefined) Object.defineProperty(event, 'record', { value })
      // Cast: joins `type` and `data` again; inside a generic they are two unions to TypeScript.
      next.write(event as unknown as AgentEvent)
    },
    /** The events that follow are about this range; `again` if events were already written about it. */
    about(place: Range | undefined, repeated = false): void {
      if (place !== undefined && place === range && !repeated) return
      if (place !== range) placeText = undefined
      range = place
      // A frame has a kind; one without a value is a line of text.
      if (place && 'kind' in place) value = 'value' in place ? place.value : undefined
      again = repeated || place === undefined
      index = 0
    },
    place: () => range,
    /** Sets the session; true for the first one. */
    session(id: string): boolean {
      const first = session === undefined
      session = id
      return first
    },
    /** Changes when `auto` has picked. */
    setEngine(given: typeof engine): void {
      engine = given
      sources.clear()
      lastSource = undefined
    },
  }
}

/**
 * Counts each place from 0. When too many are known, all are forgotten; from then on an unknown place starts
 * above every number used so far, so that no number is used twice for one place.
 */
function counter(): (place: string) => number {
  const known = new Map<string, number>()
  let first = 0
  let most = 0
  return (place) => {
    if (known.size >= MAX_PLACES && !known.has(place)) {
      known.clear()
      first = most
    }
    const index = known.get(place) ?? first
    known.set(place, index + 1)
    most = Math.max(most, index + 1)
    return index
  }
}

const kinds = new Map<EventType, { readonly category: Category; readonly type: EventType }>()

function kindOf(type: EventType): { readonly category: Category; readonly type: EventType } {
  let kind = kinds.get(type)
  if (!kind) {
    kind = Object.freeze({ category: type.slice(0, type.indexOf('.')) as Category, type })
    kinds.set(type, kind)
  }
  return kind
}

export type Writer = ReturnType<typeof writer>
