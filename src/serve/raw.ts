import fs from 'node:fs'
import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { openPlain } from '../disk/plain-file.ts'
import type { Channel } from '../text/chunk.ts'
import { refuse } from './access.ts'
import type { RunPlace } from './run-place.ts'

/**
 * Sends the bytes `[from, to)` of a raw log, unchanged: never as something a browser would render or run.
 * `attempt` selects the attempt (default: the last one); `x-total-bytes` is the size of the log. A log that
 * is not really inside the directory of the run does not count.
 */
export function sendRaw(
  response: ServerResponse,
  place: RunPlace,
  channel: Channel,
  query: URLSearchParams,
): void {
  const wanted = numberIn(query, 'attempt')
  const attempts = place.attempts().filter((attempt) => attempt.logs[channel] !== undefined)
  const attempt = wanted === undefined ? attempts.at(-1) : attempts.find((found) => found.number === wanted)
  const path = attempt?.logs[channel]
  if (path === undefined) {
    refuse(response, 404, 'there is no such stream')
    return
  }
  let fd: number
  try {
    fd = openPlain(path, fs.constants.O_RDONLY, undefined, place.within)
  } catch {
    refuse(response, 404, 'the stream cannot be read')
    return
  }
  const total = fs.fstatSync(fd).size
  const from = numberIn(query, 'from') ?? 0
  const to = Math.min(total, numberIn(query, 'to') ?? total)
  const bad = Number.isNaN(from) || Number.isNaN(to)
  if (bad || from > total || to < from) {
    fs.closeSync(fd)
    response.setHeader('x-total-bytes', total)
    refuse(response, bad ? 400 : 416, `give from and to within 0 and ${total}`)
    return
  }
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment',
    'content-length': to - from,
    'x-total-bytes': total,
    'x-attempt': attempt!.number,
  })
  if (to === from) {
    fs.closeSync(fd)
    response.end()
    return
  }
  pipeline(fs.createReadStream('', { fd, start: from, end: to - 1 }), response, () => {})
}

/** A whole number in the query, undefined if it is missing, NaN if it is something else. */
function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}
