import { didYouMean } from '../base/check-options.ts'
import { badOption, quote } from '../base/fault.ts'
import { checkEngine } from '../events/check-engine.ts'
import type { Engine, Picker } from '../events/engine.ts'
import { auto } from './auto.ts'
import { engines } from './engines-by-name.ts'

/**
 * The name of an engine, or `auto`.
 *
 * @example
 * const read = (engine: EngineName) => tap(child).pipe(events(engine))
 */
export type EngineName = keyof typeof engines | 'auto'

export function engineNamed(name: string | undefined): Engine | undefined {
  if (name === undefined || !Object.hasOwn(engines, name)) return undefined
  return engines[name as keyof typeof engines] // cast: the key exists
}

/**
 * The engine itself, or the one of that name.
 *
 * @example
 * engineOf('codex')
 */
export function engineOf(engine: Engine | Picker | EngineName): Engine | Picker {
  if (typeof engine !== 'string') return engine
  const found = engine === 'auto' ? auto : engineNamed(engine)
  if (found) return found
  const names = ['auto', ...Object.keys(engines)]
  throw badOption(`engine has no name ${quote(engine)}; ${didYouMean(engine, names)}`)
}

/** Throws BAD_OPTION unless it is an engine or the name of one. */
export function checkEngineOption(engine: unknown, who: string, example: string): void {
  checkEngine(who, engineOf(engine as EngineName), example) // cast: what is neither is refused
}
