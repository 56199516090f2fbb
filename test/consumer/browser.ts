// In a browser: the log of a run over fetch, as a conversation and as typed values.
import { chat, codex, events, values } from 'agent-sluice/web'
import { z } from 'zod'

const Record = z.object({ type: z.string() })

async function main(): Promise<string> {
  const lines: string[] = []
  const log = await fetch('/run.log')
  if (!log.body) throw new Error('there is no body')
  const reader = log.body.pipeThrough(events(codex)).pipeThrough(chat()).getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const record = next.value
    lines.push(record.type === 'assistant.message.final' ? record.data.text.slice(0, 6) : record.type)
  }
  const again = await fetch('/run.log')
  if (!again.body) throw new Error('there is no body')
  let count = 0
  const outcomes = again.body.pipeThrough(values({ lines: true, schema: Record }))
  await outcomes.pipeTo(
    new WritableStream({
      write(outcome) {
        if (outcome.ok && outcome.value.type.length > 0) count++
      },
    }),
  )
  return [...lines, `${count} records`].join('\n')
}

Object.assign(globalThis, { said: main() })
