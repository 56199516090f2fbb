import type { Intake, Sink, Stage } from '../base/stage.ts'
import { guarded } from '../events/check-engine.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { Event } from '../events/event.ts'
import { type EventOptions, eventStage } from '../events/event-stage.ts'
import { type Chunk, chunkIntake } from '../text/chunk.ts'
import type { FsDiff } from './fs-diff.ts'
import { SpentTokens } from './session-tokens.ts'

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
  /** When the attempt started, in milliseconds since 1970. */
  readonly time: number
  /**
   * The logs were replaced while they were followed: what was read of this attempt does not count any more.
   */
  readonly restarted?: true
}

/**
 * Reads recorded chunks, attempt by attempt. An event has the time of the chunk that completed it, not the
 * current time: so a replay of the recorded chunks gives the same events, byte for byte.
 */
export const timedEvents: Stage<TimedChunk | Opening, Event> = (next) => {
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
      const { engine, opens, fsDiff } = item
      // Links were checked when the diff was made; checking them now could give another result.
      const inside = (path: string) => !fsDiff()?.outside?.includes(path)
      const sessionTokens = opens.sessionTokens ?? spent.bySession()
      const options = { ...opens, sessionTokens, clock: () => now, fsDiff, inside }
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
