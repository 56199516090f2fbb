import fs from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Fault, quote } from '../base/fault.ts'

const scripts = ['.js', '.mjs', '.cjs']
const typed = ['.ts', '.mts', '.cts']

/** Whether an option names a module of the user: what has a slash, or the ending of a module, is a path. */
export function isModulePath(name: string): boolean {
  return /[\\/]/.test(name) || [...scripts, ...typed].some((ending) => name.endsWith(ending))
}

/**
 * Imports a module of the user and takes from it what `take` finds there. Whatever goes wrong is a BAD_OPTION that names
 * the file: it is missing, throws while it is imported, or has not what is wanted.
 *
 * @example
 * await useModule('./my-adapter.js', 'worker', (module) => checkAdapter(module['default']))
 */
export async function useModule<T>(
  path: string,
  what: string,
  take: (module: Readonly<Record<string, unknown>>) => T,
): Promise<T> {
  try {
    // Else Node would tell the path of the module that imports it, which is ours.
    const stats = fs.statSync(path, { throwIfNoEntry: false })
    if (!stats) throw new Error('there is no such file')
    if (!stats.isFile()) throw new Error('it is no file')
    return take(await import(pathToFileURL(resolve(path)).href))
  } catch (error) {
    const why = quote(reasonOf(error), 200)
    throw new Fault('BAD_OPTION', `${quote(path, 200)} gives no ${what}: ${why}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  return code === 'ERR_UNKNOWN_FILE_EXTENSION'
    ? `Node ${process.version} does not load such a file; compile TypeScript to .js first`
    : error.message
}
