import type { Engine, EngineFrame, EngineReader, Picker, ReaderOptions, Say } from '../events/engine.ts'

/** An engine with the same events that also reports when its turn has ended, and when it goes on. */
export function watchTurns<E extends Engine | Picker>(engine: E, tell: (over: boolean) => void): E {
  return withReaders(engine, (reader) => watchReader(reader, tell))
}

/**
 * An engine, or those that a picker picks, with other readers. What a new one lacks, the one before does. Its
 * caller refuses an invalid engine.
 */
export function withReaders<E extends Engine | Picker>(
  engine: E,
  change: (reader: EngineReader) => EngineReader,
): E {
  if ('pick' in engine) {
    const changed = (picked: Engine | undefined) => picked && withReaders(picked, change)
    return {
      ...engine,
      pick: (frame: EngineFrame) => changed(engine.pick(frame)),
      guess: (frame: EngineFrame) => changed(engine.guess?.(frame)),
      fallback: withReaders(engine.fallback, change),
    }
  }
  if (typeof engine.open !== 'function') return engine
  const open = (limits: ReaderOptions): EngineReader => {
    const reader = engine.open(limits)
    if (typeof reader?.read !== 'function') return reader
    return {
      ...(reader.sent && { sent: (frame: EngineFrame, say: Say) => reader.sent!(frame, say) }),
      end: (say) => reader.end?.(say),
      ...change(reader),
    }
  }
  return { ...engine, open }
}

/** Any first word of a verb of `Say`. */
const ANY = /^/

function watchReader(reader: EngineReader, tell: (over: boolean) => void): EngineReader {
  /** What the current frame says: the turn has ended, whatever else is in it; it continues; or nothing. */
  let over: boolean | undefined
  /** The reader keeps the end of the run. */
  let kept = false
  let heard: { readonly from: Say; readonly to: Say } | undefined

  const hear = (say: Say): Say => {
    if (heard?.from === say) return heard.to
    const works =
      <Words extends unknown[], Result>(speak: (...words: Words) => Result, ends = false, only = ANY) =>
      (...words: Words): Result => {
        if (only.test(String(words[0]))) over = ends || (over ?? false)
        return speak(...words)
      }
    const to: Say = {
      ...say,
      turn: works(say.turn, false, /^begins$/),
      piece: works(say.piece),
      message: (id, text, more) => (more?.withdrawn ? say.message : works(say.message))(id, text, more),
      reasoning: works(say.reasoning),
      call: works(say.call, false, /^(?:input|started)$/),
      sent: works(say.sent, false, /^answer$/),
      ended: works(say.ended, true),
      asks: works(say.asks, true),
    }
    heard = { from: say, to }
    return to
  }

  return {
    read(frame, say) {
      over = undefined
      const understood = reader.read(frame, hear(say))
      // A reader that keeps the end of the run says so in another way, for as long as it does.
      const keeps = reader.over?.() === true
      if (keeps && (!kept || over === false)) over = true
      else if (kept && !keeps) over ??= false
      kept = keeps
      if (over !== undefined) tell(over)
      return understood
    },
    ...(reader.sent && {
      sent(frame: EngineFrame, say: Say) {
        over = undefined
        const understood = reader.sent!(frame, hear(say))
        if (over !== undefined) tell(over)
        return understood
      },
    }),
  }
}
