import { checkOptions, isObject, misfit, readOptions } from '../base/check-options.ts'
import type { OrderDoor } from './control.ts'
import { type RunServer, SERVE_OPTIONS, SESSIONS_OPTIONS, type ServeOptions } from './serve-options.ts'

/**
 * Serves the runs under a directory: a page, their events over SSE, their raw bytes. Without `control` it
 * only reads, and answers GET only; either way only requests that address this machine by its own name.
 *
 * @example
 * const { url, close } = await serve({ dir: '.audit', port: 0 })
 * const runs = await (await fetch(new URL('runs', url))).json()
 */
export async function serve(options: ServeOptions): Promise<RunServer> {
  return await serveWith(options)
}

/** The same with another way to the runs. */
export async function serveWith(options: ServeOptions, door?: OrderDoor): Promise<RunServer> {
  if (!isObject(options) || typeof options.dir !== 'string')
    throw misfit('serve', 'an object with the directory of the runs', options, 'serve({ dir: ".audit" })')
  const read = readOptions('serve', options, 'serve({ dir: ".audit" })', SERVE_OPTIONS)
  if (typeof options.sessions === 'object')
    checkOptions('sessions of serve', options.sessions, '{ sessions: { max: 50 } }', SESSIONS_OPTIONS)
  // Loaded here: the root of the package exports `serve`, and most programs that import it do not serve.
  const { startServer } = await import('./server.ts')
  return await startServer(read, door)
}
