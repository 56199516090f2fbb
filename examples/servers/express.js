// npm install agent-sluice express compression; node express.js
import { run } from 'agent-sluice'
import { handler } from 'agent-sluice/serve'
import compression from 'compression'
import express from 'express'
import { page } from './page.js'

const command = process.env['AGENT'] ?? 'codex'
const app = express()
// Streams of runs are left alone by it.
app.use(compression())

app.get('/', (_, response) => response.type('html').send(page))
app.post('/agents', express.text(), (request, response) => {
  const agent = run(command, ['exec', '--json', '-'], { prompt: request.body, runs: '.audit' })
  agent.end.then(({ outcome }) => console.log(agent.runId, outcome), console.error)
  response.status(202).send(agent.runId)
})
// Your own authentication goes here, and before the route above.
const runs = handler({ dir: '.audit', base: '/agents', allow: () => true, page: true })
app.use(runs)

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
