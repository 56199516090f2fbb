// A server in a process of its own, so that what it costs can be told from what its clients cost:
//   node server.js <dir> <options as JSON>
// Says its port; ends with its parent.
import { serve } from '../../src/serve/serve.ts'

const [dir = '', options = '{}'] = process.argv.slice(2)
const { port } = await serve({ dir, port: 0, ...JSON.parse(options) })
process.stdout.write(`${port}\n`)
process.stdin.on('close', () => process.exit()).resume()
