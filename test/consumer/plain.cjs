// CommonJS without types: a payload in prose, with a plain JSON Schema, and the same in a stream.
const { Readable } = require('node:stream')

const schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } }
// The small entry has no validator of its own. It uses that of the root, once the root is loaded.
const small = require('agent-sluice/values')
try {
  small.parse('{"a": 1}', { schema })
} catch (error) {
  console.log(small.Fault.is(error), error.code)
}

const { Fault, parse, tryParse, values } = require('agent-sluice')
console.log(Fault === small.Fault, parse('Sure! ```json\n{"a": 1,}\n```', { schema }))

const outcome = tryParse('{"a": "one"}', { schema })
console.log(outcome.ok, outcome.fault.code, outcome.fault.errors[0].path)

async function main() {
  const source = Readable.from(['{"a": 1}\n{"a"', ': 2}\nnoise\n'])
  for await (const one of source.pipe(values({ lines: true, schema }))) console.log(one.value)
}
main()
