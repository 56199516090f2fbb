// Deno: a process of Deno.Command, whose stdout is a Web stream, through both entries; and run().
import { run, tap, values } from 'agent-sluice'
import { codex } from 'agent-sluice/engines'
import { chat, events } from 'agent-sluice/web'

const start = () => new Deno.Command('sh', { args: ['agent.sh'], stdout: 'piped' }).spawn()

let records = 0
for await (const outcome of tap(start().stdout).pipe(values({ lines: true }))) if (outcome.ok) records++
console.log(records)

for await (const record of start().stdout.pipeThrough(events(codex)).pipeThrough(chat())) {
  if (record.type === 'assistant.message.final') console.log(record.data.text.slice(0, 6))
}

const agent = run('sh', ['agent.sh'], { engine: codex })
agent.resume()
console.log((await agent.end).outcome)
