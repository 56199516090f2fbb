// Ask a model until its answer fits, keep what fits, and watch an answer while it comes.
import { ask, Fault, fileCache } from 'agent-sluice'
import { z } from 'zod'

const Verdict = z.object({ safe: z.boolean(), why: z.string() })
const answers = ['I think it is.', 'Here: {"safe": true, "why": "no shell",}']
let calls = 0
const model = async () => answers[calls++] ?? ''

const options = { prompt: 'Is it safe? Answer as JSON.', schema: Verdict }
const cached = { ...options, cache: fileCache('.cache'), cacheKey: 'verdict/1' }
const verdict = await ask(model, cached)
console.log(verdict.safe, verdict.why.toUpperCase(), calls)
await ask(model, cached)
console.log(calls)

async function* slowly() {
  yield '{"safe": false, "wh'
  yield 'y": "it deletes"}'
}
for await (const { done, value } of ask.stream(slowly, options)) console.log(done, JSON.stringify(value))

try {
  await ask(() => 'no', { ...options, rounds: 0 })
} catch (error) {
  if (Fault.is(error)) console.log(error.code, error.attempts?.length)
}
