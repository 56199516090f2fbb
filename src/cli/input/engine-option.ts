import fs from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Option } from 'commander'
import { didYouMean } from '../../base/check-options.ts'
import { badOption, quote } from '../../base/fault.ts'
import { codeOf } from '../../base/system-error-code.ts'
import { auto } from '../../engines/auto.ts'
import { engineNamed } from '../../engines/engine-name.ts'
import { engines } from '../../engines/engines-by-name.ts'
import { checkedEngine } from '../../events/check-engine.ts'
import type { Engine, Picker } from '../../events/engine.ts'

/** `--engine NAME`, in every command that reads the output of an agent. */
export function engineOption(): Option {
  const names = ['auto', ...Object.keys(engines)]
  return (
    new Option('--engine <name>', 'the agent that ran, or a module: ./my-engine.js')
      .choices(names)
      // Replaces the check that comes with the choices.
      .argParser((name: string) => {
        if (names.includes(name) || isModulePath(name)) return name
        const what = `--engine has no name ${quote(name)} (a module is a path: ./my-engine.js)`
        throw badOption(`${what}; ${didYouMean(name, names)}`)
      })
  )
}

/** The engine for `--engine`: one of ours, or the export `default` or `engine` of a module. */
export async function namedEngine(name: string): Promise<Engine | Picker>
export async function namedEngine(name: string | undefined): Promise<Engine | Picker | undefined>
export async function namedEngine(name: string | undefined): Promise<Engine | Picker | undefined> {
  if (name === undefined) return undefined
  if (isModulePath(name)) return useModule(name, 'engine', (module) => checkedEngine(engineIn(module)))
  return engineNamed(name) ?? auto
}

function engineIn(module: Readonly<Record<string, unknown>>): unknown {
  const { default: given, engine } = module
  // TypeScript that was compiled to CommonJS has its default export one level down.
  const compiled = typeof given === 'object' && given !== null && 'default' in given ? given.default : given
  const found = compiled ?? engine
  if (found === undefined) throw new Error('it has no default export, and none called engine')
  return found
}

const scripts = ['.js', '.mjs', '.cjs']
const typed = ['.ts', '.mts', '.cts']

/** Whether an option names a module: what has a slash, or the extension of a module, is a path. */
export function isModulePath(name: string): boolean {
  return /[\\/]/.test(name) || [...scripts, ...typed].some((ending) => name.endsWith(ending))
}

/**
 * Imports a module of the user and returns what `take` finds in it. Any error is a BAD_OPTION that names
 * the file: it is missing, throws while it is imported, or lacks the expected export.
 */
export async function useModule<T>(
  path: string,
  what: string,
  take: (module: Readonly<Record<string, unknown>>) => T,
): Promise<T> {
  try {
    // Otherwise Node would report the path of the importing module, which is ours.
    const stats = fs.statSync(path, { throwIfNoEntry: false })
    if (!stats) throw new Error('there is no such file')
    if (!stats.isFile()) throw new Error('it is not a file')
    return take(await import(pathToFileURL(resolve(path)).href))
  } catch (error) {
    const why = quote(reasonOf(error), 200)
    throw badOption(`${quote(path, 200)} has no usable ${what}: ${why}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return codeOf(error) === 'ERR_UNKNOWN_FILE_EXTENSION'
    ? `Node ${process.version} does not load such a file; compile TypeScript to .js first`
    : error.message
}
