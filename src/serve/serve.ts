import { checkOptions, isObject, misfit } from '../base/check-options.ts'
import type { Served, ServeOptions } from './serve-options.ts'

/**
 * Serves the runs under a directory: a page, their events over SSE, their raw bytes. It only reads; it
 * answers GET only, and only requests that address this machine by its own name.
 *
 * @example
 * const { url, close } = await serve({ dir: '.audit', port: 0 })
 * const runs = await (await fetch(new URL('runs', url))).json()
 */
export async function serve(options: ServeOptions): Promise<Served> {
  if (!isObject(options) || typeof options.dir !== 'string')
    throw misfit('serve', 'an object with the directory of the runs', options, 'serve({ dir: ".audit" })')
  checkOptions('serve', options, 'serve({ dir: ".audit" })', {
    dir: 1,
    port: 1,
    host: 1,
    heartbeat: 1,
    maxStall: 1,
    maxClients: 1,
    sessions: 1,
    token: 1,
    insecure: 1,
    redact: 1,
  })
  if (typeof options.sessions === 'object')
    checkOptions('sessions of serve', options.sessions, '{ sessions: { max: 50 } }', {
      home: 1,
      engine: 1,
      max: 1,
    })
  // Loaded here: the root of the package exports `serve`, and most programs that import it do not serve.
  const { startServer } = await import('./server.ts')
  return await startServer(options)
}
