import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { HEARTBEAT, sseMessage } from '../sinks/sse.ts'
import type { Feed } from './journal-blocks.ts'

export interface StreamOptions {
  readonly feed: Feed
  /** True when nothing will be added any more. */
  readonly over: () => boolean
  /** The id the client saw last. */
  readonly after: string | undefined
  /** Milliseconds of silence after which a sign of life is sent. */
  readonly heartbeat: number
  /** Milliseconds in which a client must take what it was sent, or it is dropped. */
  readonly maxStall: number
  readonly signal: AbortSignal
}

/**
 * Sends the events of a run to one client, from where it left off to the end of the run, at the pace of the
 * client. An id that is not of this run, or not there any more, is answered with `sluice.reset` and everything
 * from the start. A client that has all of a run that is over is told so with 204, at which browsers stop asking.
 */
export async function stream(
  request: IncomingMessage,
  response: ServerResponse,
  options: StreamOptions,
): Promise<void> {
  const { feed, over, after, heartbeat, maxStall, signal } = options
  const start = locate(feed, after)
  if (start.reset === undefined && start.at > 0 && over() && !(await hasMore(feed, start.at))) {
    response.writeHead(204).end()
    return
  }
  if (response.destroyed || signal.aborted) return
  request.socket.setKeepAlive(true, 30_000)
  request.socket.setNoDelay(true)
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
  })
  const leave = new AbortController()
  const gone = () => leave.abort()
  response.once('close', gone)
  signal.addEventListener('abort', gone)
  let quiet = true
  const beat = setInterval(() => {
    if (quiet && !response.writableNeedDrain) response.write(HEARTBEAT)
    quiet = true
  }, heartbeat)

  /** False when the client is gone, or was dropped because it does not take what it gets. */
  const send = async (bytes: Buffer | string): Promise<boolean> => {
    quiet = false
    if (response.destroyed) return false
    if (response.write(bytes)) return true
    return await drained(response, maxStall, leave.signal)
  }

  try {
    await send('retry: 1000\n\n')
    let { at } = start
    let { generation } = feed
    if (start.reset !== undefined) await send(resetMessage(start.reset))
    while (!leave.signal.aborted) {
      // Asked before the read: what was added in between is then seen by the next round.
      const last = over()
      const block = feed.read(at)
      if (feed.generation !== generation) {
        generation = feed.generation
        at = 0
        if (!(await send(resetMessage('gone')))) return
      } else if (block) {
        if (block.bytes.length === 0) await setImmediate()
        else if (!(await send(block.bytes))) return
        at = block.next
      } else if (last) break
      else await feed.more(leave.signal)
    }
    response.end()
  } finally {
    clearInterval(beat)
    signal.removeEventListener('abort', gone)
  }
}

/** True if something for a client stands behind this place; lines that are left out are nothing. */
async function hasMore(feed: Feed, at: number): Promise<boolean> {
  for (let block = feed.read(at); block; block = feed.read(block.next)) {
    if (block.bytes.length > 0) return true
    await setImmediate()
  }
  return false
}

type Reset = 'foreign' | 'gone'

const resets: Record<Reset, string> = {
  foreign: 'the id belongs to another run; here is everything',
  gone: 'the event of that id is not there any more; here is everything',
}

function resetMessage(reason: Reset): string {
  // The empty id makes the client forget the one it has.
  return sseMessage({
    id: '',
    event: 'sluice.reset',
    data: JSON.stringify({ reason, message: resets[reason] }),
  })
}

/** Where to begin for a client that saw `<run_id>:<seq>` or `<run_id>:<attempt>.<seq>` last; the run may be left out. */
function locate(feed: Feed, after: string | undefined): { at: number; reset?: Reset } {
  if (after === undefined || after === '') return { at: 0 }
  const colon = after.lastIndexOf(':')
  const match = /^(?:(\d{1,9})\.)?(\d{1,15})$/.exec(after.slice(colon + 1))
  const foreign = colon >= 0 && after.slice(0, colon) !== feed.run_id
  if (!match || foreign) return { at: 0, reset: 'foreign' }
  const seq = Number(match[2])
  if (seq === 0) return { at: 0 }
  const at = feed.after(Number(match[1] ?? 1), seq)
  return at === undefined ? { at: 0, reset: 'gone' } : { at }
}

function drained(response: ServerResponse, maxStall: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (taken: boolean) => {
      clearTimeout(timer)
      response.off('drain', onDrain)
      signal.removeEventListener('abort', onGone)
      resolve(taken)
    }
    const onDrain = () => settle(true)
    const onGone = () => settle(false)
    // Only this client: what it was sent is all it costs.
    const timer = setTimeout(() => response.destroy(), maxStall)
    response.once('drain', onDrain)
    signal.addEventListener('abort', onGone)
    if (signal.aborted) settle(false)
  })
}
