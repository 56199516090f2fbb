import fs from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Fault, quote } from '../../base/fault.ts'
import { codeOf } from '../../base/system-error-code.ts'

const scripts = ['.js', '.mjs', '.cjs']
const typed = ['.ts', '.mts', '.cts']

/**
 * Whether an option names a module of the user: a name with a slash, or with the extension of a module, is a
 * path.
 */
export function isModulePath(name: string): boolean {
  return /[\\/]/.test(name) || [...scripts, ...typed].some((ending) => name.endsWith(ending))
}

/**
 * Imports a module of the user and returns what `take` finds in it. Any error is a BAD_OPTION that names
 * the file: it is missing, throws while it is imported, or lacks the expected export.
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
    // Otherwise Node would report the path of the importing module, which is ours.
    const stats = fs.statSync(path, { throwIfNoEntry: false })
    if (!stats) throw new Error('there is no such file')
    if (!stats.isFile()) throw new Error('it is not a file')
    return take(await import(pathToFileURL(resolve(path)).href))
  } catch (error) {
    const why = quote(reasonOf(error), 200)
    throw new Fault('BAD_OPTION', `${quote(path, 200)} has no usable ${what}: ${why}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return codeOf(error) === 'ERR_UNKNOWN_FILE_EXTENSION'
    ? `Node ${process.version} does not load such a file; compile TypeScript to .js first`
    : error.message
}
