// Serve recorded runs, list them, and read one as server-sent events with nothing but fetch.
import { run } from 'agent-sluice'
import { type RunInfo, serve } from 'agent-sluice/serve'

const agent = run('sh', ['agent.sh'], { audit: 'runs/one' })
await agent.toArray()

const { url, close } = await serve({ dir: 'runs', port: 0 })
const runs = (await (await fetch(new URL('runs', url))).json()) as RunInfo[]
for (const { id, engine, outcome } of runs) console.log(id, engine, outcome)

const response = await fetch(new URL(`runs/${encodeURIComponent('one')}/chat`, url))
let text = ''
const decoder = new TextDecoder()
for await (const bytes of response.body ?? []) {
  text += decoder.decode(bytes, { stream: true })
  const messages = text.split('\n\n')
  text = messages.pop() ?? ''
  // A message without an event is a sign of life.
  const events = messages.flatMap((message) =>
    message.split('\n').filter((line) => line.startsWith('event: ')),
  )
  for (const event of events) console.log(event)
}

const wrong = await fetch(`${url}/runs`)
console.log(wrong.status, (await wrong.text()).trim())
await close()
