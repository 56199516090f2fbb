import { clip, Fault, quote, runCodes } from '../base/fault.ts'
import type { Engine, EngineFrame, Limits, Picker, Reader, Say } from './engine.ts'

/**
 * An engine may be third-party code. If it throws on a frame, the frame is kept as raw, the failure is
 * reported once and counted at the end, and the run continues; if it returns an invalid value, that is misuse
 * and ends the run.
 */
export function guarded<E extends Engine | Picker>(engine: E): E {
  if ('pick' in engine) {
    const { fallback } = engine
    return {
      ...engine,
      pick: (frame: EngineFrame) => picked(engine, 'pick', frame),
      guess: (frame: EngineFrame) => picked(engine, 'guess', frame),
      fallback: guarded(fallback),
    }
  }
  return { ...engine, open: (limits: Limits) => opened(engine, limits) }
}

function picked(picker: Picker, how: 'pick' | 'guess', frame: EngineFrame): Engine | undefined {
  let engine: Engine | undefined
  try {
    engine = picker[how]?.(frame)
  } catch (cause) {
    throw misuse(picker, `threw in ${how}`, cause)
  }
  if (engine === undefined) return undefined
  quiet(engine)
  if (typeof engine?.open !== 'function') throw misuse(picker, `must ${how} a profile, or undefined`)
  return guarded(engine)
}

function opened(engine: Engine, limits: Limits): Reader {
  let reader: Reader
  try {
    reader = engine.open(limits)
  } catch (cause) {
    throw misuse(engine, 'threw in open', cause)
  }
  quiet(reader)
  if (typeof reader?.read !== 'function')
    throw misuse(engine, 'must return an object with a read method from open')
  let failed = 0

  const threw = (error: unknown, say: Say) => {
    // A Fault that `say` throws comes from a later stage, such as a full disk or a bad clock: pass it on.
    if (Fault.is(error)) throw error
    if (++failed > 1) return
    const words = error instanceof Error ? error.message : String(error)
    say.warning('PROFILE_FAILED', `${runCodes.PROFILE_FAILED}: ${clip(words, 100)}`)
  }

  const guard =
    (how: 'read' | 'sent'): Reader['read'] =>
    (frame, say) => {
      let understood: boolean | 'kept'
      try {
        understood = reader[how]!(frame, say)
      } catch (error) {
        threw(error, say)
        return false
      }
      if (understood === true || understood === false || understood === 'kept') return understood
      quiet(understood)
      throw misuse(engine, `must return true, false or 'kept' from ${how}, synchronously`)
    }

  return {
    read: guard('read'),
    ...(reader.sent && { sent: guard('sent') }),
    over: () => reader.over?.() === true,
    end(say) {
      const before = failed
      try {
        const answer: unknown = reader.end?.(say)
        // It is too late for anything that a promise would still report.
        if (isPromise(answer)) {
          quiet(answer)
          throw new Error('end returned a promise')
        }
      } catch (error) {
        threw(error, say)
      }
      if (failed > 1) {
        const where = failed > before ? ', the last time at the end' : ''
        say.warning('PROFILE_FAILED', `${failed} times: ${runCodes.PROFILE_FAILED}${where}`)
      }
    },
  }
}

const isPromise = (answer: unknown): answer is Promise<unknown> => answer instanceof Promise

/** Nothing awaits the promise, and its rejection must not end the process. */
function quiet(answer: unknown): void {
  if (isPromise(answer)) answer.catch(() => {})
}

function misuse(engine: Engine | Picker, what: string, cause?: unknown): Fault {
  return new Fault('BAD_OPTION', `the engine ${quote(engine.name)} ${what}`, { cause })
}
