// npm install agent-sluice fastify; node fastify.js
import { run } from 'agent-sluice'
import { handler } from 'agent-sluice/serve'
import Fastify from 'fastify'
import { page } from './page.js'

const command = process.env['AGENT'] ?? 'codex'
const app = Fastify({ forceCloseConnections: true })

app.get('/', (_, reply) => reply.type('text/html').send(page))
app.post('/agents', (request, reply) => {
  const agent = run(command, ['exec', '--json', '-'], { prompt: request.body, runs: '.audit' })
  agent.end.then(({ outcome }) => console.log(agent.runId, outcome), console.error)
  reply.code(202).send(agent.runId)
})
// Your own authentication goes here, and before the route above.
const runs = handler({ dir: '.audit', base: '/agents', allow: () => true, page: true })
app.get('/agents/*', (request, reply) => {
  reply.hijack()
  runs(request.raw, reply.raw)
})
app.addHook('onClose', () => runs.close())

console.log(await app.listen({ port: Number(process.env['PORT'] ?? 3000), host: '127.0.0.1' }))
