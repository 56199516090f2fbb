// The server of bench/readers.ts: an app with the handler, and routes of its own.
//   node readers-app.mjs <directory of runs> <the folder where express is installed>
import { createRequire } from 'node:module'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'
import { handler } from '../src/serve.ts'

const [dir, packages] = argv.slice(2) as [string, string]
// Cast: only of this program, which is no dependency of the library.
const { default: express } = (await import(
  pathToFileURL(createRequire(`${packages}/package.json`).resolve('express')).href
)) as { readonly default: () => App }

interface App {
  get(path: string, answer: (request: unknown, response: { json(value: unknown): void }) => void): void
  use(listener: unknown): void
  listen(port: number, host: string, done: () => void): { address(): { port: number } }
}

const delays = monitorEventLoopDelay({ resolution: 10 })
delays.enable()
const app = express()
app.get('/ping', (_, response) => response.json(null))
app.get('/delays', (_, response) => {
  response.json({ p99: delays.percentile(99) / 1e6, max: delays.max / 1e6 })
  delays.reset()
})
app.use(handler({ dir, base: '/agents', allow: () => true }))
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))
