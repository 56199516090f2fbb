import { jsonrepair } from 'jsonrepair'
import { brokenPayloads, type Payload } from '../make.ts'
import { answerTo, type Candidate, type Workload } from '../measure.ts'
import { product } from '../product.ts'

const OURS = 'tryParse()'

export const w5: Workload = {
  id: 'W5',
  title: 'broken payloads',
  input: 'texts of 1 to 60 KB, each spoiled in one of eight ways',
  async *scenes(quick) {
    const payloads = brokenPayloads(quick ? 96 : 240)
    const bytes = payloads.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
    const expected = await answerTo(payloads.map(({ value }) => value))
    const goals = [{ ours: OURS, against: 'jsonrepair', atLeast: 1.5 }]
    yield { name: 'one text after the other', bytes, expected, candidates: candidates(payloads), goals }
  },
}

function candidates(payloads: readonly Payload[]): Candidate[] {
  const whole = payloads.map(({ value }) => JSON.stringify(value, null, 2))
  return [
    {
      name: OURS,
      role: 'ours',
      run(visit) {
        for (const { text } of payloads) {
          const outcome = product.tryParse(text)
          if (outcome.ok) visit(outcome.value)
        }
      },
    },
    {
      name: 'jsonrepair',
      role: 'peer',
      run(visit) {
        for (const { text } of payloads) visit(JSON.parse(jsonrepair(text)))
      },
    },
    {
      name: 'JSON.parse, not broken',
      role: 'limit',
      run(visit) {
        for (const text of whole) visit(JSON.parse(text))
      },
    },
  ]
}
