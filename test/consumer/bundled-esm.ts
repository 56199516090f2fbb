// Bundled into one ES module: the validator comes along.
import 'agent-sluice/json-schema'
import { parse, tryParse } from 'agent-sluice'

const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  required: ['at'],
  properties: { at: { type: 'string', format: 'date-time' } },
}
console.log(parse('<json>{"at": "2026-01-01T00:00:00Z"}</json>', { tag: 'json', schema }))
const bad = tryParse('{"at": "tomorrow"}', { schema })
console.log(bad.ok ? bad.value : bad.fault.errors?.[0]?.message)
