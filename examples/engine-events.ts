// The logs of a run, read into protocol events and the conversation: journals on disk, as a server would keep
// them, and what a person sees.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { chat, events, jsonl, tap } from 'agent-sluice'

const dir = mkdtempSync(join(tmpdir(), 'engine-events-'))
const document = { session_id: 's-1', response: 'Which file?\n```json\n{"ask": "file"}\n```', stats: {} }
const runs = {
  codex: {
    stdout: [
      { type: 'thread.started', thread_id: 't-1' },
      { type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text: 'Which file?' } },
      { type: 'turn.completed', usage: { input_tokens: 10, output_tokens: 2 } },
    ]
      .map((record) => `${JSON.stringify(record)}\n`)
      .join(''),
    stderr: '',
  },
  gemini: { stdout: '请求失败: 429\n', stderr: JSON.stringify(document, null, 2) },
  iflow: {
    stdout: '你要改哪个文件？\n',
    stderr:
      '\n<Execution Info>\n{"session-id": "session-1", "tokenUsage": {"input": 5}}\n</Execution Info>\n',
  },
} as const

for (const engine of ['codex', 'gemini', 'iflow'] as const) {
  const { stdout, stderr } = runs[engine]
  const audit = join(dir, engine)
  mkdirSync(audit)
  const read = () => {
    const exit = Promise.resolve({ code: 0, signal: null })
    const output = tap({ stdout: Readable.from([stdout]), stderr: Readable.from([stderr]), exit })
    return output.pipe(events(engine, { runId: engine }))
  }
  const file = join(audit, 'events.jsonl')
  const lines: string[] = []
  await pipeline(read(), jsonl(), async (source) => {
    for await (const line of source) lines.push(String(line))
  })
  writeFileSync(file, lines.join(''))
  const shown: string[] = []
  for await (const record of read().pipe(chat())) if (!record.type.startsWith('raw.')) shown.push(record.type)
  console.log(engine, readFileSync(file, 'utf8').trim().split('\n').length > 3, shown.join(' '))
}
rmSync(dir, { recursive: true })
