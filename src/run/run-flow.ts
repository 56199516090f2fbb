import type { Readable, Transform } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { Fault, type Note } from '../base/fault.ts'
import type { Intake, Sink, Stage } from '../base/stage.ts'
import type { Journal } from '../disk/journal.ts'
import { guarded } from '../events/check-engine.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { AgentEvent, ResultData } from '../events/event.ts'
import { type EventOptions, eventStage } from '../events/event-stage.ts'
import { type Chunk, chunkIntake } from '../text/chunk.ts'
import type { FsDiff } from './fs-diff.ts'
import { SpentTokens } from './session-tokens.ts'

/** A resource that belongs to a flow and ends with it. */
export interface Tied {
  /** The flow is being destroyed, by a failure or by its reader, or has ended: make the source end. */
  stop(failure: Error | null): void
  /** The source has ended: release everything. */
  tidy(): void
}

/**
 * Writes a source into the flow, at the pace of its reader. With `tied`, the flow is only closed, and its
 * failure only reported, when all is released: a caller that sees the end can start again at once.
 */
export function feed(source: AsyncIterable<unknown>, flow: Transform, tied?: Tied): Promise<void> {
  /** Wakes a write that waits for room, after the flow was destroyed. */
  let leave = () => {}
  const fed = write(source, flow, (wake) => {
    leave = wake
  })
  if (tied) {
    const destroy = flow._destroy.bind(flow)
    flow._destroy = (error, done) => {
      leave()
      tied.stop(error)
      destroy(error, async (failure) => {
        await fed
        tied.tidy()
        done(failure)
      })
    }
  }
  return fed
}

/** After this many milliseconds without a pause, signals, timers and sockets get a turn. */
const MAX_BUSY_MS = 15

async function write(
  source: AsyncIterable<unknown>,
  flow: Transform,
  waits: (wake: () => void) => void,
): Promise<void> {
  // `end` of a run is a promise that hides the method, so it is bound before.
  const finish = flow.end.bind(flow)
  let turned = performance.now()
  try {
    for await (const item of source) {
      const isFull = !flow.destroyed && !flow.write(item)
      // A reader may have left while it got what was made of the item: then no room will come.
      if (flow.destroyed) return
      if (isFull) await roomIn(flow, waits)
      if (flow.destroyed) return
      if (performance.now() - turned < MAX_BUSY_MS) continue
      // Logs are read without waiting, and a fast reader does not wait either.
      await turn()
      turned = performance.now()
    }
    finish()
  } catch (error) {
    flow.destroy(error as Error)
  }
}

function roomIn(flow: Transform, waits: (wake: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      flow.off('drain', done)
      flow.off('close', done)
      resolve()
    }
    flow.on('drain', done)
    flow.on('close', done)
    waits(done)
  })
}

/**
 * Adds `end` to the events of a run. A caller that asks for the end must get it: if the events have no reader
 * one turn later, they are read to the end here. A reader that comes after that would miss the first of them,
 * so it gets BAD_STATE. `unread` is called then: no reader sees what the agent asks.
 */
export function withEnd<R extends Readable, E>(
  run: R,
  end: Promise<E>,
  unread?: () => void,
): Omit<R, 'end'> & { end: Promise<E> } {
  let asked = false
  const read = () => {
    const readers = run.listenerCount('readable') + run.listenerCount('data')
    if (run.destroyed || run.readableFlowing !== null || readers > 0) return
    unread?.()
    run.resume()
    for (const name of READING) refuse(run, name)
  }
  return Object.defineProperty(run, 'end', {
    get() {
      if (!asked) setImmediate(read)
      asked = true
      return end
    },
  }) as never // cast: what was just defined
}

const READING = ['on', 'once', 'addListener', 'pipe', 'iterator', Symbol.asyncIterator] as const

function refuse(run: Readable, name: (typeof READING)[number]): void {
  const method = run[name].bind(run) as (...args: unknown[]) => unknown // cast: one signature for all of them
  Object.defineProperty(run, name, {
    value: (...args: unknown[]) => {
      if (typeof args[0] === 'string' && args[0] !== 'data' && args[0] !== 'readable') return method(...args)
      throw new Fault(
        'BAD_STATE',
        'the events of this run are being read already, because its end was asked for; read them first, or in the same turn',
      )
    },
  })
}

/** A chunk and when it was read, in milliseconds since 1970. */
export interface TimedChunk {
  readonly chunk: Chunk
  readonly time: number
}

/** The start of an attempt: everything known before its first byte. */
export interface Opening {
  readonly opens: EventOptions
  readonly engine: Engine | Picker
  /** What changed in the working directory; called at the exit, when it is known. */
  readonly fsDiff: () => FsDiff | undefined
  /** Told before everything else. */
  readonly firstNotes?: readonly Note[] | undefined
  /** Asked when everything was read. */
  readonly lastNotes?: (() => readonly Note[]) | undefined
  /** The result as it was told before; called at the end, when it is known. */
  readonly toldResult?: (() => ResultData | undefined) | undefined
  /** When the attempt started, in milliseconds since 1970. */
  readonly time: number
  /** The logs were replaced while they were followed: what was read of this attempt does not count. */
  readonly restarted?: true
}

/**
 * Reads recorded chunks, attempt by attempt. An event has the time of the chunk that completed it, not the
 * current time: so a replay of the recorded chunks gives the same events, byte for byte.
 */
export const timedEvents: Stage<TimedChunk | Opening, AgentEvent> = (next) => {
  let now = 0
  let inner: Sink<Chunk> | undefined
  /** What the attempts before have used: an engine may count its session over all of them. */
  const spent = new SpentTokens()
  return {
    write(item) {
      if ('chunk' in item) {
        now = item.time
        inner?.write(item.chunk)
        return
      }
      if (!item.restarted) inner?.end()
      now = item.time
      const { engine, opens, fsDiff, firstNotes, lastNotes, toldResult } = item
      // Links were checked when the diff was made; checking them now could give another result.
      const inside = (path: string) => !fsDiff()?.outside?.includes(path)
      const sessionTokens = opens.sessionTokens ?? spent.bySession()
      const told = { firstNotes, lastNotes, toldResult }
      const options = { ...opens, sessionTokens, clock: () => now, fsDiff, inside, ...told }
      // The end of one attempt is not the end of the flow.
      inner = eventStage(
        guarded(engine),
        options,
      )({
        write(event) {
          spent.add(event)
          next.write(event)
        },
        end() {},
      })
    },
    end() {
      inner?.end()
      next.end()
    },
  }
}

/** Splits the bytes of a recorded chunk like those of a bare one. */
export function timedIntake(): Intake<TimedChunk | Opening> {
  const chunks = chunkIntake()
  return {
    take: (written) => written as TimedChunk | Opening,
    size: (item) => ('chunk' in item ? chunks.size(item.chunk) : 1),
    portion(item, from, to) {
      return 'chunk' in item ? { chunk: chunks.portion(item.chunk, from, to), time: item.time } : item
    },
  }
}

/**
 * Stores events before they are passed on: each alone, or those that one `write` makes at once, which takes
 * longer than making most of them. What the journal must not have is not stored: the end of a run whose
 * reader has left, because the logs may say more than was read.
 */
export function storedEvents<T>(
  book: Journal,
  isLeft: () => boolean,
  each: boolean,
  events: Stage<T, AgentEvent>,
): Stage<T, AgentEvent> {
  return (next) => {
    let made: AgentEvent[] = []
    const store = () => {
      const events = made
      made = []
      if (!isLeft()) book.appendAll(events)
      for (const event of events) next.write(event)
    }
    const inner: Sink<T> = events({
      write(event) {
        made.push(event)
        if (each) store()
      },
      end() {},
    })
    return {
      write(item) {
        try {
          inner.write(item)
        } finally {
          store()
        }
      },
      end() {
        inner.end()
        store()
        if (!isLeft()) book.sync()
        // The meta says that all is stored before somebody else may write.
        next.end()
        if (!isLeft()) book.close()
      },
    }
  }
}
