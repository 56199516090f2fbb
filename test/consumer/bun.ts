// Bun: a process of Bun.spawn, whose stdout is a Web stream; and run(), which ends the agent when we leave.
import { events, run, tap } from 'agent-sluice'
import { codex } from 'agent-sluice/engines'

const child = Bun.spawn(['sh', 'agent.sh'], { stdout: 'pipe' })
for await (const event of tap(child.stdout).pipe(events(codex))) {
  if (event.type === 'agent.message.final') console.log(event.data.text.slice(0, 6))
}
console.log(await child.exited)

for await (const event of run('sh', ['agent.sh', 'stay'])) {
  if (event.type !== 'agent.message.final') continue
  console.log('enough')
  break
}
console.log(typeof Bun.version)
