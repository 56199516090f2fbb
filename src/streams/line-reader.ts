import { Fault } from '../base/fault.ts'
import { Bytes } from '../base/platform.ts'
import { type EngineName, engineOf } from '../engines/engine-name.ts'
import { checkEngine, guarded } from '../events/check-engine.ts'
import type { Engine, Picker } from '../events/engine.ts'
import type { AgentEvent, EventWithRecord } from '../events/event.ts'
import { type EventOptions, eventStage } from '../events/event-stage.ts'
import type { ExitChunk } from '../text/chunk.ts'

/**
 * Reads one run line by line.
 *
 * @example
 * const show = (reader: LineReader, text: string) => reader.line(text).map(({ type }) => type)
 */
export interface LineReader<E = AgentEvent> {
  /** The events of one line of stdout (or of another channel), with or without its line end. */
  line(text: string, channel?: 'stdout' | 'stderr'): E[]
  /** The last events of the run, and how it ended; with the exit of its process, if that is known. */
  end(exit?: Partial<Pick<ExitChunk, 'code' | 'signal'>>): E[]
}

/**
 * `events()` without a stream, for a program that has lines already: one call, and the events of the line.
 * Nothing is kept but what the engine needs.
 *
 * @example
 * const reader = lineReader('claude')
 * for (const event of reader.line('{"type":"result","subtype":"success"}')) console.log(event.type)
 * for (const event of reader.end({ code: 0 })) console.log(event.type)
 */
export function lineReader(
  engine: Engine | Picker | EngineName,
  options: EventOptions & { readonly record: true },
): LineReader<EventWithRecord>
export function lineReader(engine: Engine | Picker | EngineName, options?: EventOptions): LineReader
export function lineReader(engine: Engine | Picker | EngineName, options: EventOptions = {}): LineReader {
  const named = engineOf(engine)
  checkEngine('lineReader', named)
  let told: AgentEvent[] = []
  let over = false
  const sink = eventStage(guarded(named), options)({ write: (event) => void told.push(event), end: () => {} })
  const take = () => {
    const events = told
    told = []
    return events
  }
  const check = () => {
    if (over) throw new Fault('BAD_STATE', 'the reader was ended; make another one for the next run')
  }
  return {
    line(text, channel = 'stdout') {
      check()
      sink.write({ channel, bytes: Bytes.from(text.endsWith('\n') ? text : `${text}\n`) })
      return take()
    },
    end({ code = null, signal = null } = {}) {
      check()
      over = true
      if (code !== null || signal !== null) sink.write({ channel: 'exit', code, signal })
      sink.end()
      return take()
    },
  }
}
