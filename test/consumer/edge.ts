// On an edge worker: POST the output of an agent, get its conversation as NDJSON; /report takes the payload
// out of it.
import { auto, chat, events, Fault, parse, values } from 'agent-sluice/web'
import { z } from 'zod'

const Report = z.object({ issues: z.array(z.object({ file: z.string() })) })

export default {
  async fetch(request: Request): Promise<Response> {
    if (!request.body) return new Response('nothing was sent', { status: 400 })
    const { pathname } = new URL(request.url)
    if (pathname === '/report') {
      const { issues } = parse(await request.text(), { tag: 'json', schema: Report })
      return Response.json(issues.map(({ file }) => file))
    }
    if (pathname === '/plain') {
      try {
        values({ schema: { type: 'object' } })
      } catch (error) {
        return new Response(Fault.is(error) ? error.code : String(error))
      }
    }
    const encoder = new TextEncoder()
    const lines = new TransformStream<{ type: string }, Uint8Array>({
      transform: (record, controller) => controller.enqueue(encoder.encode(`${record.type}\n`)),
    })
    return new Response(request.body.pipeThrough(events(auto)).pipeThrough(chat()).pipeThrough(lines))
  },
}
