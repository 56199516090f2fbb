// Ask a model until its answer fits the schema. The model here is a script, so no network is needed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AskCall, ask, Fault, fileCache } from 'agent-sluice'
import { z } from 'zod'

const Verdict = z.object({ verdict: z.enum(['buy', 'hold', 'sell']), score: z.number().min(0).max(1) })

const answers = [
  'I think one should hold.',
  '<think>JSON only</think>```json\n{"verdict": "hold", "score": 0.6,}\n```',
]
const call: AskCall = async ({ prompt, attempt }) => {
  console.log(`asked (${attempt}): ${prompt.split('\n').at(-2) ?? prompt}`)
  return answers[attempt - 1] ?? ''
}

const dir = mkdtempSync(join(tmpdir(), 'ask-example-'))
const options = {
  prompt: 'Judge this share as JSON: {"verdict": "buy | hold | sell", "score": 0..1}',
  schema: Verdict,
  label: 'judge',
  cache: fileCache(dir),
  cacheKey: 'verdict/1',
}
console.log('answer:', await ask(call, options))
console.log('again, from the cache:', await ask(call, options))

// To throw an error of your own takes three lines.
class JudgeError extends Error {}
const judged = ask(() => 'no comment', { ...options, cache: undefined, rounds: 0 }).catch((error) => {
  throw Fault.is(error) ? new JudgeError(error.message, { cause: error }) : error
})
console.log('wrapped:', await judged.catch((error) => `${error.constructor.name}: ${error.message}`))
rmSync(dir, { recursive: true })
