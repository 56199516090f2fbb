// Strict TypeScript, ES modules: run an agent, read its events and its result.
import { type AgentEvent as Event, Fault, run, tap, values } from 'agent-sluice'
import { codex } from 'agent-sluice/engines'
import { z } from 'zod'

const Report = z.object({ issues: z.array(z.object({ file: z.string(), line: z.number() })) })

const agent = run('sh', ['agent.sh'], { engine: codex, schema: Report })
for await (const event of agent) {
  const line = told(event)
  if (line) console.log(line)
}
const { outcome, result, tokens } = await agent.end
const first = result?.value?.issues[0]
console.log(outcome, first?.file, first?.line.toFixed(1), tokens?.input)

const missing = run('no-such-agent', [], { audit: 'missing' })
try {
  for await (const event of missing) console.log(event.type)
} catch (error) {
  if (Fault.is(error)) console.log(error.code)
}

// The DOM has types of its own for these; with `lib: ["dom"]`, the default, they are meant here, too.
const { body } = new Response('[2]')
for (const source of [new Response('[1]'), body!, new Blob(['[3]']).stream()])
  for await (const outcome of tap(source).pipe(values({ schema: z.tuple([z.number()]) })))
    if (outcome.ok) console.log(outcome.value[0])

function told(event: Event): string | undefined {
  switch (event.type) {
    case 'agent.message.final':
      return event.data.text.slice(0, 6)
    case 'tool.call.failed':
      return `${event.data.name}: ${event.data.exit_code}`
    case 'lifecycle.completion.state':
      return event.data.reason_code
    default:
      return undefined
  }
}
