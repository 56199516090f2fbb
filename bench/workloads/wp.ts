import type { Readable } from 'node:stream'
import { objectsInProse } from '../make.ts'
import { answerTo, type Candidate, type Workload } from '../measure.ts'
import { product } from '../product.ts'
import { batched, chunksOf, source } from '../source.ts'

export const wp: Workload = {
  id: 'WP',
  title: 'objects in prose',
  input: 'prose with an object of 200 to 400 B every 50 to 450 B, in a sentence or on lines of its own',
  async *scenes(quick) {
    const { input, values } = objectsInProse((quick ? 2 : 8) << 20)
    const base = { bytes: input.length, expected: await answerTo(values) }
    for (const size of quick ? [65_536] : [65_536, 4095, 64]) {
      const chunks = chunksOf(input, size)
      const name = `${size === 65_536 ? '64 KiB' : size === 4095 ? '4,095 B' : '64 B'} chunks`
      yield { ...base, name, candidates: candidates(() => source(chunks), input.toString('latin1')) }
    }
  },
}

function candidates(open: () => Readable, text: string): Candidate[] {
  return [
    ours('values()', open, {}),
    ours('values({schema})', open, { schema: { type: 'object', required: ['id', 'issue'] } }),
    {
      name: 'JSON.parse, objects found by a regular expression',
      role: 'limit',
      run(visit) {
        // Right for this input only: its objects have one level, and no brace in a string.
        for (const [json] of text.matchAll(/\{\s*"id"[^{]*\{[^}]*\}\s*\}/g)) visit(JSON.parse(json))
      },
    },
  ]
}

function ours(name: string, open: () => Readable, options: object): Candidate {
  return {
    name,
    role: 'ours',
    run: (visit) =>
      batched<{ ok: boolean; value?: unknown }>(
        open().pipe(product.values(options)),
        (outcome) => outcome.ok && visit(outcome.value),
      ),
  }
}
