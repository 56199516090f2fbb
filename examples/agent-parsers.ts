// One parser for many agents: each only names its tag, its schema and its own fields. A bad answer is asked
// for again, in the language of the prompt.
import { ask, Fault, jsonSchema, parse, type Schema } from 'agent-sluice'

interface Report {
  issues: { file: string; line: number; severity: string; message: string }[]
}
const Report = jsonSchema<Report>({
  type: 'object',
  required: ['issues'],
  properties: { issues: { type: 'array', items: { type: 'object', required: ['file', 'line'] } } },
})
const Verdict = jsonSchema<{ verdict: string }>({
  type: 'object',
  required: ['verdict'],
  properties: { verdict: { enum: ['buy', 'hold', 'sell'] } },
})

type Normalizer = (value: Record<string, unknown>) => unknown

class LLMOutputParseError extends Error {}

/** An agent's parser, with the error of its module. */
function parser<T>(label: string, schema: Schema<T>, ...normalize: Normalizer[]): (raw: string) => T {
  return (raw) => {
    try {
      return parse(raw, { label, schema, normalize, root: 'object' })
    } catch (cause) {
      throw Fault.is(cause) ? new LLMOutputParseError(cause.message, { cause }) : cause
    }
  }
}

const lower = (value: Record<string, unknown>) => ({ verdict: String(value['verdict']).toLowerCase() })
const verdictOf = parser('verdict', Verdict, lower)
console.log(verdictOf('<think>{"verdict":"sell"}?</think>\n```json\n{"verdict": "HOLD"}\n```').verdict)
try {
  verdictOf('I cannot say.')
} catch (error) {
  console.log(error instanceof LLMOutputParseError, String(error).slice(0, 60))
}

// Claude Code, told to answer in <json>: the last block counts, also without its closing tag.
const review =
  '<thinking>…</thinking><json>{"issues": []}</json>\nBetter:\n<json>\n{issues: [{"file": "a.go", "line": 3,},]}'
console.log(JSON.stringify(parse(review, { tag: 'json', pick: 'last', schema: Report }).issues[0]))

const answers = ['我认为是持有。', '{"verdict": "hold"}']
const call = async ({ prompt }: { prompt: string }) => {
  console.log(prompt.split('\n').at(-1))
  return answers.shift() ?? ''
}
console.log(await ask(call, { prompt: '判断这只股票。', schema: Verdict, retryPrompt: 'zh' }))
