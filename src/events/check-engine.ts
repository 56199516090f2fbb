import { isObject, misfit } from '../base/check-options.ts'
import { Fault } from '../base/fault.ts'
import { type Engine, isRecord, type Picker } from './engine.ts'

/** Throws BAD_OPTION if it is not an engine. A name is refused here: it would need every engine. */
export function checkEngine(who: string, engine: unknown): void {
  const called = isObject(engine) && ('open' in engine || 'pick' in engine) && 'cut' in engine
  if (!called || !isObject(engine.cut))
    throw misfit(
      who,
      `an engine of this package${typeof engine === 'string' ? ' (not its name)' : ''} or one of your own`,
      engine,
      `${who}(codex)`,
    )
}

/**
 * Checks that the export of a user's file is an engine. Throws a `BAD_OPTION` Fault that says what is missing
 * or wrong.
 */
export function checkedEngine(value: unknown): Engine | Picker {
  const wrong = wrongIn(value)
  if (wrong !== undefined) throw new Fault('BAD_OPTION', `it is not an Engine: ${wrong}`)
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
