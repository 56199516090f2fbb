// A terminal and pipes: the agent writes every record twice, each is read once. Then the recorded run as
// Markdown.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { replay, run } from 'agent-sluice'
import { codex } from 'agent-sluice/engines'
import { markdown, redact } from 'agent-sluice/views'

const agent = run('sh', ['agent.sh'], { engine: codex, runs: '.audit', pty: { pipes: true, cols: 80 } })
const events = await agent.toArray()
const { audit = '', outcome } = await agent.end
const records = (name: string) => readFileSync(join(audit, name), 'utf8').trim().split('\n').length
console.log(records('stdout.1.log'), records('pty-output.1.log'), outcome)

const messages = events.filter((event) => event.type === 'agent.message.final')
for (const { data, raw_ref } of messages) console.log(data.text.slice(0, 6), raw_ref?.stream)

const pages = await replay(audit).pipe(redact()).pipe(markdown()).toArray()
console.log(pages.join('').split('\n')[0])
