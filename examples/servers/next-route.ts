// app/agents/[[...path]]/route.ts of a Next project: npm install agent-sluice; and in next.config
// { serverExternalPackages: ['agent-sluice'] }, so that it is not bundled
import { run } from 'agent-sluice'
import { handler } from 'agent-sluice/serve'

export const dynamic = 'force-dynamic'

// Your own authentication goes here, and before POST.
export const { fetch: GET } = handler({ dir: '.audit', base: '/agents', allow: () => true, page: true })

export async function POST(request: Request): Promise<Response> {
  const command = process.env['AGENT'] ?? 'codex'
  const agent = run(command, ['exec', '--json', '-'], { prompt: await request.text(), runs: '.audit' })
  agent.end.then(({ outcome }) => console.log(agent.runId, outcome), console.error)
  return new Response(agent.runId, { status: 202 })
}
