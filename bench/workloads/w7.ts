import { JSONParser } from '@streamparser/json'
import { parsePartialJson } from 'ai'
import { parse as river } from 'jsonriver'
import { parse as partial } from 'partial-json'
import { document } from '../make.ts'
import { answerTo, type Candidate, type Workload } from '../measure.ts'
import { product, snapshots } from '../product.ts'

const OURS = 'snapshots()'
/** Deltas of a model: 64 bytes, and the documents are plain ASCII. */
const DELTA = 64

export const w7: Workload = {
  id: 'W7',
  title: 'a value that grows',
  input: 'one document in deltas of 64 bytes, the value as far as it has come after each',
  async *scenes(quick) {
    for (const [name, length] of [
      ['1 MB', quick ? 250_000 : 1_000_000],
      ['64 KB', quick ? 16_000 : 64_000],
    ] as const) {
      const value = document(length)
      const text = JSON.stringify(value)
      const deltas = Array.from({ length: Math.ceil(text.length / DELTA) }, (_, index) =>
        text.slice(index * DELTA, (index + 1) * DELTA),
      )
      const base = { bytes: text.length, expected: await answerTo([value]) }
      // Those that parse everything again for each delta would take minutes for 1 MB.
      const candidates = name === '1 MB' ? incremental(deltas) : [...incremental(deltas), ...again(deltas)]
      const goals = name === '1 MB' ? [{ ours: OURS, against: 'jsonriver', atLeast: 1 / 0.6 }] : []
      yield { ...base, name: quick ? `${name} (a quarter of it)` : name, candidates, goals }
    }
  },
}

async function* coming(deltas: readonly string[]): AsyncGenerator<string> {
  yield* deltas
}

function incremental(deltas: readonly string[]): Candidate[] {
  return [
    {
      // The whole way: it also finds the payload, parses it when it is complete, and judges it.
      name: 'ask.stream()',
      role: 'ours',
      async run(visit) {
        for await (const { done, value } of product.ask.stream(() => coming(deltas), {
          prompt: 'the issues, please',
        })) {
          if (done) visit(value)
        }
      },
    },
    {
      // As @streamparser/json below, by its own call: it needs no iteration. jsonriver takes nothing but an
      // async iterable.
      name: OURS,
      role: 'ours',
      run(visit) {
        const seen = snapshots()
        let last: unknown
        for (const delta of deltas) last = seen.push(delta)?.value ?? last
        visit(last)
      },
    },
    {
      name: 'snapshots(), for await',
      role: 'ours',
      async run(visit) {
        const seen = snapshots()
        let last: unknown
        for await (const delta of coming(deltas)) last = seen.push(delta)?.value ?? last
        visit(last)
      },
    },
    {
      name: 'jsonriver',
      role: 'peer',
      async run(visit) {
        let last: unknown
        for await (const value of river(coming(deltas))) last = value
        visit(last)
      },
    },
    {
      name: '@streamparser/json',
      role: 'peer',
      run(visit) {
        const parser = new JSONParser({ emitPartialTokens: true, emitPartialValues: true })
        let last: unknown
        parser.onValue = ({ value, stack }) => {
          if (stack.length === 0) last = value
        }
        for (const delta of deltas) parser.write(delta)
        visit(last)
      },
    },
  ]
}

/** Parsers of a whole text, asked again after each delta. */
function again(deltas: readonly string[]): Candidate[] {
  return [
    {
      name: 'partial-json',
      role: 'peer',
      run(visit) {
        let text = ''
        let last: unknown
        for (const delta of deltas) {
          text += delta
          last = partial(text)
        }
        visit(last)
      },
    },
    {
      name: 'AI SDK parsePartialJson',
      role: 'peer',
      async run(visit) {
        let text = ''
        let last: unknown
        for (const delta of deltas) {
          text += delta
          last = (await parsePartialJson(text)).value
        }
        visit(last)
      },
    },
  ]
}
