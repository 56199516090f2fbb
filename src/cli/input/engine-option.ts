import { InvalidArgumentError, Option } from 'commander'
import { auto } from '../../engines/auto.ts'
import { engines } from '../../engines/engines-by-name.ts'
import { checkedEngine } from '../../events/check-engine.ts'
import type { Engine, Picker } from '../../events/engine.ts'
import { isModulePath, useModule } from './module-file.ts'

/** `--engine NAME`, in every command that reads the output of an agent. */
export function engineOption(): Option {
  const names = ['auto', ...Object.keys(engines)]
  return (
    new Option('--engine <name>', 'the agent that ran, or a module: ./my-engine.js')
      .choices(names)
      // Replaces the check that comes with the choices.
      .argParser((name: string) => {
        if (names.includes(name) || isModulePath(name)) return name
        throw new InvalidArgumentError(
          `Allowed choices are ${names.join(', ')}, or a module: ./my-engine.js.`,
        )
      })
  )
}

/**
 * The engine for `--engine`: one of this package, or the path of a module whose default export (or whose
 * export `engine`) is the engine.
 *
 * @example
 * events(await namedEngine('./my-engine.js'))
 */
export async function namedEngine(name: string): Promise<Engine | Picker> {
  if (isModulePath(name)) return useModule(name, 'engine', (module) => checkedEngine(engineIn(module)))
  return Object.hasOwn(engines, name) ? engines[name as keyof typeof engines] : auto
}

function engineIn(module: Readonly<Record<string, unknown>>): unknown {
  const { default: given, engine } = module
  // TypeScript that was compiled to CommonJS has its default export one level down.
  const compiled = typeof given === 'object' && given !== null && 'default' in given ? given.default : given
  const found = compiled ?? engine
  if (found === undefined) throw new Error('it has no default export, and none called engine')
  return found
}
