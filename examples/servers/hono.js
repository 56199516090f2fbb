// npm install agent-sluice hono @hono/node-server; node hono.js
import { serve } from '@hono/node-server'
import { run } from 'agent-sluice'
import { handler } from 'agent-sluice/serve'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { page } from './page.js'

const command = process.env['AGENT'] ?? 'codex'
const app = new Hono()
// Streams of runs are left alone by it.
app.use(compress())

app.get('/', (context) => context.html(page))
app.post('/agents', async (context) => {
  const agent = run(command, ['exec', '--json', '-'], { prompt: await context.req.text(), runs: '.audit' })
  agent.end.then(({ outcome }) => console.log(agent.runId, outcome), console.error)
  return context.text(agent.runId, 202)
})
// Your own authentication goes here, and before the route above.
const runs = handler({ dir: '.audit', base: '/agents', allow: () => true, page: true })
app.get('/agents/*', (context) => runs.fetch(context.req.raw))

serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`)
})
