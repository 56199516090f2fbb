// Bundled into one CommonJS file, from the small entries.
import { jsonSchema } from 'agent-sluice/json-schema'
import { tryParse, values } from 'agent-sluice/values'

const schema = jsonSchema<{ a: number }>({ type: 'object', properties: { a: { type: 'number' } } })
const outcome = tryParse('{"a": 1}', { schema })
console.log(outcome.ok && outcome.value.a + 1)

const flow = values({ schema, tag: 'json', pick: 'last' })
flow.on('data', (one) => console.log(one.ok ? one.value.a : one.fault.code))
flow.end('<json>{"a": 1}</json> no, <json>{"a": 2}</json>')
