import { type PageExample, root } from './page-programs.ts'

/** A `codex` of the program's own that runs these lines of shell. */
const codexOf = (lines: string) => `
  import { writeFileSync } from 'node:fs'
  writeFileSync('codex', ${JSON.stringify(`#!/bin/sh\n${lines}\n`)}, { mode: 0o755 })`

/** It says that its turn failed, and leaves with 0. */
const failingCodex = codexOf(`cat <<'X'
{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"turn.failed","error":{"message":"You have run out of quota."}}
X`)

/** An agent that says what was recorded, and waits for what it was sent. */
const agentOf = (name: string, wire: string) => `
  import { writeFileSync as write } from 'node:fs'
  const wires = ${JSON.stringify(`${root}test/run/wires/`)}
  write('${name}', '#!/bin/sh\\nexec "' + process.execPath + '" ' + wires + 'stand-in.mjs ' + wires + '${wire}.jsonl notes.jsonl "$@"\\n', { mode: 0o755 })`

/** Two records, cut in the middle of a character, without a line end after the second. */
const cutChunks = `
  const bytes = Buffer.from('{"text":"Grüße"}\\n{"text":"done"}')
  const chunks = [bytes.subarray(0, 12), bytes.subarray(12)]`

const taggedAnswers = `
  const Report = { type: 'object', required: ['fix'] }
  const answer = 'First idea: <json>{"fix": "none"}</json>\\n<think>or <json>{"fix": "rewrite it"}</json>?</think>\\nMy answer: <json>{"fix": "write </json> at the end",}</json>'
  const cut = answer.slice(0, answer.indexOf('</json> at the end'))`

/**
 * The programs on the pages in docs, by page and name. What they print is checked by pages.test.ts, that they
 * compile by api-examples.test.ts.
 */
export const pageExamples: Readonly<Record<string, Readonly<Record<string, PageExample>>>> = {
  'docs/recipes.md': {
    line: {
      after: `
        import { readFileSync } from 'node:fs'
        const log = readFileSync('${root}fixtures/codex/07a-file-write.tee80/stdout.log', 'utf8')
        for (const line of log.trimEnd().split('\\n')) { console.log('in'); onLine(line) }
        onExit(0)`,
      prints: [
        /^in\nlifecycle\.run\.status \nin\n/,
        /^in\nagent\.message\.final Wrote artifacts\/info\.json\.\nin\n/m,
        /\nlifecycle\.completion\.state \n$/,
      ],
    },
    disconnect: {
      before: `
        import { watch, writeFileSync } from 'node:fs'
        process.env['PORT'] = '0'
        writeFileSync('codex', '#!/bin/sh\\n: > started\\nexec sleep 60\\n', { mode: 0o755 })`,
      after: `
        await new Promise((resolve) => server.once('listening', resolve))
        const { port } = server.address() as { port: number }
        const client = new AbortController()
        const watcher = watch('.', (_, name) => { if (name === 'started') client.abort() })
        await fetch('http://127.0.0.1:' + port, { signal: client.signal }).catch(({ name }) => console.log(name))
        watcher.close()
        server.close()`,
      prints: [/^AbortError$/m, /^the agent has ended: cancelled$/m],
    },
  },
  'docs/values.md': {
    try: { prints: [/^\{ a: 1 \} deterministic_generic$/m] },
    openai: {
      before: `
        const Report = { type: 'object', required: ['fix'] }
        const messages: object[] = []
        interface Piece { id: string; choices: { index: number; delta: { role?: string; content?: string | null }; finish_reason: string | null }[] }
        const piece = (delta: Piece['choices'][0]['delta'], finish_reason: string | null = null): Piece => ({ id: 'chatcmpl-1', choices: [{ index: 0, delta, finish_reason }] })
        async function* pieces() {
          yield piece({ role: 'assistant', content: '' })
          for (const content of ['Here: {"f', 'ix": "n', 'one"}', '.']) yield piece({ content })
          yield piece({}, 'stop')
          yield { ...piece({}), choices: [] }
        }
        const openai = { chat: { completions: { create: async (_: object) => pieces() } } }`,
      prints: [/value: \{ fix: 'none' \}/],
    },
    anthropic: {
      before: `
        const Report = { type: 'object', required: ['fix'] }
        const messages: object[] = []
        type Said = { type: 'content_block_delta'; index: number; delta: { type: string; text?: string } }
        type Piece = Said | { type: 'message_start' | 'content_block_start' | 'content_block_stop' | 'message_delta' | 'message_stop' | 'ping' }
        async function* pieces(): AsyncGenerator<Piece> {
          yield { type: 'message_start' }
          yield { type: 'content_block_start' }
          yield { type: 'ping' }
          for (const text of ['Here: {"f', 'ix": "n', 'one"}', '.'])
            yield { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }
          for (const type of ['content_block_stop', 'message_delta', 'message_stop'] as const) yield { type }
        }
        const anthropic = { messages: { stream: (_: object) => pieces() } }`,
      prints: [/value: \{ fix: 'none' \}/],
    },
    mine: {
      before: `
        import { writeFileSync } from 'node:fs'
        writeFileSync('run.jsonl', '{"type":"turn.started"}\\n{"type":"turn.completed","n":1}\\n')`,
      prints: [/^24 \{ type: 'turn\.completed', n: 1 \}$/m, /^1 0$/m],
    },
    changes: {
      after: `console.log(JSON.stringify(tryParse('<json>{"a":1,}</json>').notes[0]?.changes))`,
      prints: [/^\[\{"kind":"dropped a comma","at":12,"before":",","after":""\}\]$/m],
    },
  },
  'docs/talk.md': {
    talk: {
      before: agentOf('copilot', 'copilot-acp.title'),
      // The model calls a removal "touch up the files".
      after: `
        import { readFileSync } from 'node:fs'
        console.log(readFileSync('notes.jsonl', 'utf8').includes('"optionId":"reject_once"'))`,
      prints: [/^rm -f seed\.txt \(the model says: touch up the files\): reject_once\nfinished\ntrue$/m],
    },
  },
  'docs/replacing-your-parser.md': {
    'chunks-before': { before: cutChunks, prints: [/^Gr\ufffd\ufffdße\n$/] },
    'chunks-after': {
      before: `${cutChunks}
        import { z } from 'zod'
        const Text = z.object({ text: z.string() })`,
      prints: [/^Grüße\ndone\n$/],
    },
    'block-before': {
      before: taggedAnswers,
      prints: [/^\{ fix: 'rewrite it' \}\n$/],
      fails: /SyntaxError: Unterminated string in JSON/,
    },
    'block-after': {
      before: taggedAnswers,
      prints: [/^TRUNCATED\n\{ fix: 'write <\/json> at the end' \}\n$/],
    },
    'exit-before': { before: failingCodex, prints: [/^it worked$/m] },
    'exit-after': { before: failingCodex, prints: [/^failed [A-Z_]+$/m] },
  },
  'docs/server.md': {
    allow: {
      before: `process.env['PORT'] = '0'`,
      after: `
        import { run } from 'agent-sluice'
        users.set('s1', 'ann').set('s2', 'bob')
        const agent = run('codex', ['exec', '--json', 'x'], { runs: '.audit' })
        owners.set(agent.runId, 'ann')
        await agent.end
        const path = '/agents/runs/' + agent.runId + '/chat'
        const url = 'http://127.0.0.1:' + (server.address() as { port: number }).port + path
        const statuses = async (ask: (cookie: string) => Promise<{ status: number }>) =>
          console.log(...(await Promise.all(['a=b; session=s1', 'session=s2', 'xsession=s1', ''].map(ask))).map(({ status }) => status))
        await statuses((cookie) => fetch(url, { headers: { cookie } }))
        await statuses((cookie) => runs.fetch(new Request(url, { headers: { cookie } })))
        const all = await fetch(new URL('/agents/runs', url), { headers: { cookie: 'session=s1' } })
        console.log(all.status)
        await runs.close()
        server.close()`,
      prints: [/^200 403 403 403\n200 403 403 403\n403\n$/],
    },
    pool: { prints: [/^finished fix the test \S*\.audit\S+$/m, /^finished remove dead code /m] },
    elsewhere: { prints: [/^finished finished$/m] },
  },
}
