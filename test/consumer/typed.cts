// Strict TypeScript that becomes CommonJS: a typed pipeline.
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { chat, events, jsonl, type Outcome, tap, values } from 'agent-sluice'
import { codex } from 'agent-sluice/engines'
import { jsonSchema } from 'agent-sluice/json-schema'

interface Issue {
  readonly file: string
}
const Issue = jsonSchema<Issue>({ type: 'object', required: ['file'] })

async function main(): Promise<void> {
  const found: Outcome<Issue>[] = await tap('{"file": "a.ts"}\n{"no": 1}\n')
    .pipe(values({ lines: true, schema: Issue }))
    .toArray()
  for (const one of found) console.log(one.ok ? one.value.file : one.fault.code)

  const log = '{"type":"thread.started","thread_id":"t-1"}\n{"type":"turn.completed","usage":{}}\n'
  let lines = ''
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines += chunk
      done()
    },
  })
  await pipeline(tap(log), events(codex), chat(), jsonl(), sink)
  for (const line of lines.trim().split('\n')) console.log(JSON.parse(line).type)
}
void main()
