// A server that shows an agent to browsers: server-sent events, and the agent ends when the client leaves.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { chat, run, sse } from 'agent-sluice'

const server = createServer(async (request, response) => {
  const args = request.url === '/stay' ? ['agent.sh', 'stay'] : ['agent.sh']
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  try {
    await pipeline(run('sh', args), chat(), sse(), response)
  } catch {
    console.log('the client left, and the agent is gone')
    server.close()
  }
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const whole = await (await fetch(url)).text()
for (const line of whole.split('\n')) if (line.startsWith('event: ')) console.log(line)

const leave = new AbortController()
const live = await fetch(`${url}/stay`, { signal: leave.signal })
let text = ''
try {
  for await (const bytes of live.body ?? []) {
    text += new TextDecoder().decode(bytes)
    if (text.includes('event: assistant.message.final')) leave.abort()
  }
} catch {
  console.log('we left')
}
