// A large log: records of one type are counted without parsing the rest. And a schema without a library.
import { createReadStream, writeFileSync } from 'node:fs'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type DroppedLines, tap, values } from 'agent-sluice'

const lines = Array.from({ length: 1000 }, (_, n) =>
  JSON.stringify({ type: n % 100 === 0 ? 'end' : 'step', n }),
)
writeFileSync('run.jsonl', `${lines.join('\n')}\nnoise\n`)

let dropped: DroppedLines | undefined
const onDropped = (count: DroppedLines) => {
  dropped = count
}
let count = 0
const ends = createReadStream('run.jsonl').pipe(values({ lines: true, where: { type: 'end' }, onDropped }))
for await (const outcome of ends) if (outcome.ok) count++
console.log(count, dropped?.unread, dropped?.parsed)

// If nothing matches, there is one outcome, and it is no value.
const none = createReadStream('run.jsonl').pipe(values({ lines: true, where: { type: 'no such' } }))
for await (const outcome of none) console.log(outcome.ok ? outcome.value : outcome.fault.code)

const Even: StandardSchemaV1<unknown, number> = {
  '~standard': {
    version: 1,
    vendor: 'by hand',
    validate: (value) =>
      typeof value === 'number' && value % 2 === 0 ? { value } : { issues: [{ message: 'must be even' }] },
  },
}
for await (const outcome of tap('a <json>4</json> b <json>5</json>').pipe(
  values({ tag: 'json', schema: Even }),
))
  console.log(outcome.ok ? outcome.value.toFixed(1) : outcome.fault.errors?.[0]?.message)
