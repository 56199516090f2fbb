import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPrograms, root, runProgram, standIns } from '../page-programs.ts'

// examples/ai-provider.ts with the real AI SDK and a real process, whose output is a recorded run.

const example = readFileSync(join(root, 'examples/ai-provider.ts'), 'utf8')

/** A `codex` that runs these lines of shell. */
const codexOf = (lines: string) => `
  import { readFileSync, watch, writeFileSync } from 'node:fs'
  writeFileSync('codex', ${JSON.stringify(`#!/bin/sh\n${lines}\n`)}, { mode: 0o755 })`

/** It answers with JSON after some words, and keeps what it was asked. */
const askedForJson = codexOf(`cat > asked
cat <<'X'
{"type":"thread.started","thread_id":"t1"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"I look at the files."}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Here it is: {\\"issues\\": [\\"a\\",]}"}}
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":60,"output_tokens":10}}
X`)

const programs = {
  'stream-text': `
    import { streamText } from 'ai'
    const answer = streamText({ model: codex('gpt'), prompt: 'fix the test' })
    for await (const part of answer.fullStream)
      if (part.type === 'tool-call' || part.type === 'tool-result') console.log(part.type, part.toolName)
    console.log(await answer.text, await answer.finishReason, (await answer.usage).inputTokens! > 0)`,
  'generate-object': `${askedForJson}
    import { generateObject } from 'ai'
    import { z } from 'zod'
    const schema = z.object({ issues: z.array(z.string()) })
    const { object, usage, providerMetadata } = await generateObject({ model: codex('gpt'), system: 'Be brief.', prompt: 'List.', schema })
    console.log(JSON.stringify(object), usage.inputTokens, usage.inputTokenDetails.cacheReadTokens)
    console.log(providerMetadata?.['sluice']?.['session_id'], readFileSync('asked', 'utf8').startsWith('Be brief.\\n\\nList.\\n\\nAnswer with JSON'))`,
  failing: `${codexOf(`echo '{"type":"turn.failed","error":{"message":"You have run out of quota."}}'; exit 1`)}
    import { generateText } from 'ai'
    await generateText({ model: codex('gpt'), prompt: 'x' }).catch(({ code, message }) => console.log(code, message))`,
  stopped: `${codexOf('echo $$ > pid; echo \'{"type":"thread.started","thread_id":"t1"}\'; exec sleep 60')}
    import { generateText } from 'ai'
    const stop = new AbortController()
    const watcher = watch('.', (_, name) => { if (name === 'pid' && readFileSync('pid', 'utf8')) stop.abort() })
    await generateText({ model: codex('gpt'), prompt: 'x', abortSignal: stop.signal }).catch(({ name }) => console.log(name))
    watcher.close()
    try { process.kill(Number(readFileSync('pid', 'utf8')), 0); console.log('still running') } catch { console.log('gone') }`,
}

let dir = ''
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-provider-'))
  standIns(dir)
  const texts = Object.entries(programs).map(([name, use]) => [name, `${example}\n${use}`])
  buildPrograms(dir, Object.fromEntries(texts))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test.each([
  [
    'stream-text',
    'tool-call file_change\ntool-result file_change\nWriting the artifact.Wrote artifacts/info.json. stop true\n',
  ],
  ['generate-object', '{"issues":["a"]} 100 60\nt1 true\n'],
  ['failing', 'COMMAND_FAILED You have run out of quota.\n'],
  ['stopped', 'AbortError\ngone\n'],
])('the provider works with the AI SDK: %s', (name, printed) => {
  const { stdout, stderr } = runProgram(dir, name)
  expect({ stdout, stderr }).toEqual({ stdout: printed, stderr: '' })
})

test('the provider has thirty lines', () => {
  expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(30)
})
