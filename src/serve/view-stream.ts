import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { Event } from '../events/event.ts'
import type { Place } from '../sinks/journal-line.ts'
import type { SseView, ViewPlace } from '../sinks/view-sse.ts'
import { refuse } from './refuse.ts'
import { type Line, openLine, ready, type StreamOptions } from './stream.ts'

/**
 * Sends the events of a run as another protocol has them. A client that was cut off goes on behind the message it saw last: the view is
 * made anew from the first event, and what the client has is left out. One that has all of a run that is over gets 204, one with an
 * id that is not of this run 409: other protocols have no word for beginning again.
 */
export async function streamView(
  request: IncomingMessage,
  response: ServerResponse,
  { view, ...options }: StreamOptions & { readonly view: SseView },
): Promise<void> {
  const { feed, over, fault, signal } = options
  const { event: after, part } = splitId(options.after)
  const start = await ready({ ...options, after }, response)
  if (start.reset !== undefined)
    return refuse(response, 409, 'the id is not of this run; ask for everything, without an id')
  if (response.destroyed || signal.aborted) return

  let line: Line | undefined
  const open = (): Line => {
    line ??= openLine(request, response, view.headers, options)
    return line
  }
  let waiting = ''
  /** Something was made that the client does not have. */
  let news = start.last === undefined
  const sink = view.stage()({
    write({ text, place }) {
      if (place) {
        if (start.last && !isAfter(place, start.last, part)) return
        news = true
      }
      waiting += text
    },
    end() {},
  })
  /** False when the client is gone. */
  const flush = async (): Promise<boolean> => {
    const text = waiting
    waiting = ''
    if (text !== '') return await open().send(text)
    // A long run may be left out before something is sent.
    await setImmediate()
    return !response.destroyed
  }

  try {
    // Whether a run that is over has something for this client is known only when all of it was read.
    if (!over()) open()
    const { generation } = feed
    let at = 0
    let last: Place | undefined
    while (!response.destroyed && !signal.aborted) {
      // Asked before the read: what was added in between is then seen by the next round.
      const ended = over()
      const block = feed.read(at, last)
      // Nothing that was sent can be taken back: the client comes again, and is told then.
      if (feed.generation !== generation) return void response.destroy()
      if (block && !block.fault) {
        for (const event of eventsIn(block.bytes)) sink.write(event)
        at = block.next
        last = block.last
        if (!(await flush())) return
      } else if (block || ended) {
        const why = block?.fault ?? fault()
        if (why) waiting += view.fault(why.message, why.code)
        else sink.end()
        if (news && !(await flush())) return
        break
      } else await feed.more(open().signal)
    }
    if (line) response.end()
    else if (!response.destroyed) response.writeHead(204).end()
  } finally {
    line?.close()
  }
}

//  r1:2.7/3
//  ^^^^^^ event of attempt 2
//         ^ part; all of them where there is none, as in the ids of /events
function splitId(id: string | undefined): { event: string | undefined; part: number } {
  const slash = id === undefined ? -1 : id.indexOf('/', id.lastIndexOf(':') + 1)
  if (id === undefined || slash < 0) return { event: id, part: Number.POSITIVE_INFINITY }
  // What is no number is no part: then the whole event is sent again.
  return { event: id.slice(0, slash), part: Number(id.slice(slash + 1)) || 0 }
}

function isAfter(place: ViewPlace, seen: Place, part: number): boolean {
  const order = place.attempt_number - seen.attempt_number || place.seq - seen.seq
  return order > 0 || (order === 0 && place.part > part)
}

const DATA = 'data: '

/** The events of a block, which is spelled as SSE with each event on one line of data. */
function* eventsIn(block: Buffer): Generator<Event> {
  // The cast is the door: the feed has looked whether it is an event.
  for (const line of block.toString().split('\n'))
    if (line.startsWith(DATA)) yield JSON.parse(line.slice(DATA.length)) as Event
}
