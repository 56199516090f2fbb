// CommonJS without types: a payload in prose, with a plain JSON Schema, and the same in a stream.
const { Readable } = require('node:stream')
const { Fault, parse, tryParse, values } = require('agent-sluice')

const schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } }
console.log(parse('Sure! ```json\n{"a": 1,}\n```', { schema }))

const outcome = tryParse('{"a": "one"}', { schema })
console.log(outcome.ok, outcome.fault.code, outcome.fault.errors[0].path)

const small = require('agent-sluice/values')
try {
  small.parse('{"a": 1}', { schema })
} catch (error) {
  console.log(Fault.is(error), error.code)
}

async function main() {
  const source = Readable.from(['{"a": 1}\n{"a"', ': 2}\nnoise\n'])
  for await (const one of source.pipe(values({ lines: true, schema }))) console.log(one.value)
}
main()
