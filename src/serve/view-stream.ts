import type { IncomingMessage, ServerResponse } from 'node:http'
import { comparePlaces, type Place } from '../disk/read-journal.ts'
import type { SseView, ViewPlace } from '../streams/view-sse.ts'
import { refuse } from './access.ts'
import { eventsIn } from './journal-blocks.ts'
import { type Line, openLine, ready, type StreamOptions } from './stream.ts'
import { turn } from './turns.ts'

/**
 * Sends the events of a run in another protocol. A client that was cut off resumes after the last message it
 * saw: the view is made again from the first event, and what the client has is left out. A client that has
 * all of an ended run gets a 204, one with an id that is not of this run a 409: other protocols have no
 * message for starting over.
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
  /** There is a message that the client does not have. */
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
    return text === '' ? !response.destroyed : await open().send(text)
  }

  try {
    // Whether an ended run has something for this client is known only after all of it was read.
    if (!over()) open()
    const { generation } = feed
    let at = 0
    let last: Place | undefined
    while (!response.destroyed && !signal.aborted) {
      // Checked before the read: what is added in between is then seen by the next round.
      const ended = over()
      const block = feed.read(at, last)
      // What was sent cannot be taken back: drop the client, which gets the right response when it
      // reconnects.
      if (feed.generation !== generation) return void response.destroy()
      if (block && !block.fault) {
        for (const event of eventsIn(block)) sink.write(event)
        at = block.next
        last = block.last
        if (!(await flush())) return
        if (block.full) await turn()
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
//         ^ part; without one, all parts, as in the ids of /events
function splitId(id: string | undefined): { event: string | undefined; part: number } {
  const slash = id === undefined ? -1 : id.indexOf('/', id.lastIndexOf(':') + 1)
  if (id === undefined || slash < 0) return { event: id, part: Number.POSITIVE_INFINITY }
  // An invalid part counts as none: then the whole event is sent again.
  return { event: id.slice(0, slash), part: Number(id.slice(slash + 1)) || 0 }
}

function isAfter(place: ViewPlace, seen: Place, part: number): boolean {
  const order = comparePlaces(place, seen)
  return order > 0 || (order === 0 && place.part > part)
}
