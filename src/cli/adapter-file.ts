import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Fault, quote } from '../base/fault.ts'
import { type Adapter, checkAdapter } from '../work/adapter.ts'

/**
 * The worker that `--worker` names: the type of an included adapter, or the path of a module whose default export is an
 * adapter. What has a slash or the ending of a module is a path.
 *
 * @example
 * await namedWorker('./my-adapter.js')
 */
export async function namedWorker(name: string): Promise<string | Adapter> {
  const isPath = /[\\/]/.test(name) || ['.js', '.mjs', '.cjs'].some((ending) => name.endsWith(ending))
  if (!isPath) return name
  try {
    const loaded: { default?: unknown } = await import(pathToFileURL(resolve(name)).href)
    if (loaded.default === undefined) throw new Error('it has no default export')
    return checkAdapter(loaded.default)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Fault('BAD_OPTION', `${quote(name, 200)} gives no worker: ${quote(why, 200)}`, { cause: error })
  }
}
