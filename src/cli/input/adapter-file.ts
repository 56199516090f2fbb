import { type Adapter, checkAdapter } from '../../work/adapter.ts'
import { isModulePath, useModule } from './module-file.ts'

/**
 * The worker for `--worker`: the type of an included adapter, or the path of a module whose default export is
 * an adapter.
 *
 * @example
 * await namedWorker('./my-adapter.js')
 */
export async function namedWorker(name: string): Promise<string | Adapter> {
  if (!isModulePath(name)) return name
  return useModule(name, 'worker', (module) => {
    if (module['default'] === undefined) throw new Error('it has no default export')
    return checkAdapter(module['default'])
  })
}
