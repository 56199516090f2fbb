import JSONStream from 'JSONStream'
import { JSONParser } from '@streamparser/json-node'
import { pick } from 'stream-json/filters/pick.js'
import { streamArray } from 'stream-json/streamers/stream-array.js'
import { elements } from '../make.ts'
import { answerOf, type Candidate, type Workload } from '../measure.ts'
import { product } from '../product.ts'
import { batched, chunksOf, repeated } from '../source.ts'

const OURS = 'values({tag, items})'

export const w4: Workload = {
  id: 'W4',
  title: 'elements of one huge array',
  input: 'one block with an array of objects; its memory is measured with 256 MB, see M',
  async *scenes(quick) {
    const texts = elements((quick ? 1 : 4) << 20)
    const pool = Buffer.from(texts.map((text) => `${text},`).join(''))
    const times = quick ? 3 : 8
    const limit: Candidate = {
      name: 'JSON.parse, elements split before',
      role: 'limit',
      run(visit) {
        for (let time = 0; time < times; time++) for (const text of texts) visit(JSON.parse(text))
        visit(LAST)
      },
    }
    const chunks = chunksOf(pool, 65_536)
    const tail = `${JSON.stringify(LAST)}]}`
    const bare = () => repeated('{"issues":[', chunks, times, tail)
    const tagged = () => repeated('Here it is: <json>{"issues":[', chunks, times, `${tail}</json>`)
    const candidates: Candidate[] = [
      {
        name: OURS,
        role: 'ours',
        run: (visit) =>
          batched<{ ok: boolean; value?: unknown }>(
            tagged().pipe(product.values({ tag: 'json', items: 'issues.*' })),
            (outcome) => outcome.ok && visit(outcome.value),
          ),
      },
      {
        name: 'stream-json',
        role: 'peer',
        run: (visit) =>
          batched<{ value: unknown }>(
            bare()
              .pipe(pick.withParserAsStream({ filter: 'issues' }))
              .pipe(streamArray.asStream()),
            ({ value }) => visit(value),
          ),
      },
      {
        name: '@streamparser/json-node',
        role: 'peer',
        run: (visit) =>
          batched<{ value: unknown }>(
            bare().pipe(new JSONParser({ paths: ['$.issues.*'], keepStack: false })),
            ({ value }) => visit(value),
          ),
      },
      {
        name: 'JSONStream',
        role: 'peer',
        run: (visit) => batched(bare().pipe(JSONStream.parse('issues.*')), visit),
      },
      limit,
    ]
    yield {
      name: '64 KiB chunks',
      bytes: pool.length * times,
      expected: await answerOf(limit.run),
      candidates,
      goals: [
        { ours: OURS, against: 'stream-json', atLeast: 4 },
        { ours: OURS, against: '@streamparser/json-node', atLeast: 4 },
        { ours: OURS, against: 'JSONStream', atLeast: 4 },
      ],
    }
  },
}

const LAST = { last: true }
