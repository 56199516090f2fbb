// Bundled into one file without a validator: what checks a JSON Schema says what is missing.
import { type Fault, run, tryParse } from 'agent-sluice'

console.log(typeof run, tryParse('{"a": 1,}').ok)
try {
  tryParse('{"a": 1}', { schema: { type: 'object' } })
} catch (error) {
  console.log((error as Fault).message)
}
