import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { exportRun, logsOf } from './export.ts'
import { readLogs } from './log-overviews.ts'
import { refuse } from './refuse.ts'
import type { FoundRun } from './runs.ts'

/** Each export reads a whole run twice. */
const MAX_AT_ONCE = 4
const types = { html: 'text/html; charset=utf-8', md: 'text/markdown; charset=utf-8' } as const
let sending = 0

/** Sends a run as a file to download, with its secrets hidden; a run in progress as far as it is now. */
export async function sendExport(
  response: ServerResponse,
  { info, place }: FoundRun,
  to: keyof typeof types,
): Promise<void> {
  const attempts = place.attempts()
  if (attempts.length === 0) return refuse(response, 404, 'this run has no logs to export')
  if (sending >= MAX_AT_ONCE) {
    response.setHeader('retry-after', '5')
    return refuse(response, 503, 'too many exports at once')
  }
  const leave = new AbortController()
  response.once('close', () => leave.abort())
  const events = () => readLogs(place, { signal: leave.signal })
  const growing = place.isRunning()
  const source = { name: info.id, events, attempts, logs: logsOf(attempts), growing }
  response.writeHead(200, {
    'content-type': types[to],
    'content-disposition': `attachment; filename="run.${to}"`,
  })
  sending++
  try {
    await pipeline(Readable.from(exportRun(source, { to, redact: true }).text), response)
  } catch {
    // The client disconnected, or the logs cannot be read any more: the file is cut off, and the client sees
    // an error.
    response.destroy()
  } finally {
    sending--
  }
}
