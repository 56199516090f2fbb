import { isObject, misfit } from '../base/check-options.ts'
import { badOption, clip, Fault, quote, runCodes } from '../base/fault.ts'
import {
  type Engine,
  type EngineFrame,
  type EngineReader,
  isRecord,
  type Picker,
  type ReaderOptions,
  type Say,
} from './engine.ts'

/** Throws BAD_OPTION if it is not an engine. A name is refused here: it would need every engine. */
export function checkEngine(who: string, engine: unknown, example = `${who}(codex)`): void {
  const called = isObject(engine) && ('open' in engine || 'pick' in engine) && 'cut' in engine
  if (!called || !isObject(engine.cut))
    throw misfit(
      who,
      `an engine of this package${typeof engine === 'string' ? ' (not its name)' : ''} or one of your own`,
      engine,
      example,
    )
}

/** Checks that the export of a user's file is an engine; a `BAD_OPTION` says what is wrong. */
export function checkedEngine(value: unknown): Engine | Picker {
  const wrong = wrongIn(value)
  if (wrong !== undefined) throw badOption(`it is not an Engine: ${wrong}`)
  return value as Engine | Picker // cast: every field was checked
}

function wrongIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'it must be an object'
  // cast: an instance of a class is fine, too, so own keys are not required
  const given = value as Record<string, unknown>
  for (const key of ['name', 'parser']) {
    if (typeof given[key] !== 'string' || given[key] === '') return `${key} must be a non-empty string`
  }
  if (given['about'] !== undefined && typeof given['about'] !== 'string') return 'about must be a string'
  if (given['growing'] !== undefined && typeof given['growing'] !== 'boolean')
    return 'growing must be true or false'
  const cut = wrongCut(given['cut'])
  if (cut !== undefined) return cut
  if (given['pick'] !== undefined) {
    const fallback = wrongIn(given['fallback'])
    return (
      wrongFunction(given, 'pick') ??
      wrongFunction(given, 'guess', true) ??
      (fallback && `of its fallback, ${fallback}`)
    )
  }
  return wrongFunction(given, 'open') ?? wrongFunction(given, 'shape', true)
}

const shapes: readonly unknown[] = ['records', 'documents', 'text']

function wrongCut(cut: unknown): string | undefined {
  if (!isRecord(cut)) return "cut must be an object such as { stdout: 'records' }"
  const named = (['stdout', 'stderr', 'pty'] as const).filter((channel) => cut[channel] !== undefined)
  if (named.length === 0) return 'cut must name stdout, stderr or pty'
  const odd = named.find((channel) => !shapes.includes(cut[channel]))
  if (odd !== undefined) return `cut.${odd} must be 'records', 'documents' or 'text'`
  const sent = cut['stdin'] ?? 'text'
  if (typeof sent !== 'function' && sent !== 'text' && sent !== 'records')
    return "cut.stdin must be 'records', 'text' or a function"
  const list = (['blocks', 'glued'] as const).find(
    (key) => cut[key] !== undefined && !Array.isArray(cut[key]),
  )
  return list && `cut.${list} must be a list of names`
}

function wrongFunction(given: Record<string, unknown>, key: string, mayMiss = false): string | undefined {
  if (typeof given[key] === 'function' || (mayMiss && given[key] === undefined)) return undefined
  return `${key} must be a function`
}

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
  return { ...engine, open: (limits: ReaderOptions) => opened(engine, limits) }
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
  if (typeof engine?.open !== 'function') throw misuse(picker, `must ${how} an engine, or undefined`)
  return guarded(engine)
}

function opened(engine: Engine, limits: ReaderOptions): EngineReader {
  let reader: EngineReader
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
    (how: 'read' | 'sent'): EngineReader['read'] =>
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
  return badOption(`the engine ${quote(engine.name)} ${what}`, { cause })
}
