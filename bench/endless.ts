// A log that is made on the fly, as long as you like: does memory stay flat, and does each GB take as long as
// the one before?
//
//   npm run build && npx tsx bench/endless.ts --gigabytes 10
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { product } from './product.ts'
import { engineLines, logOf, mixedRuns } from './real-lines.ts'
import { batched, chunksOf, repeated } from './source.ts'

const { values: options } = parseArgs({
  options: { gigabytes: { type: 'string', default: '10' }, reader: { type: 'string' } },
})

const BLOCK = 64 << 20

const readers = new Map([
  [
    'values({lines, where})',
    {
      lines: () => mixedRuns(BLOCK),
      open: () => product.values({ lines: true, where: { type: 'turn.completed' } }),
    },
  ],
  ['values({lines})', { lines: () => mixedRuns(BLOCK), open: () => product.values({ lines: true }) }],
  ['events(codex)', { lines: () => engineLines('codex', BLOCK), open: () => product.events('codex') }],
])

if (options.reader === undefined) for (const name of readers.keys()) await inProcess(name)
else await read(options.reader, Number(options.gigabytes))

/** Each in a process of its own, so that its memory is its own. */
function inProcess(name: string): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['--reader', name, '--gigabytes', options.gigabytes], {
    execArgv: [...process.execArgv, '--expose-gc'],
  })
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${name} ended with ${code}`))))
  })
}

async function read(name: string, gigabytes: number): Promise<void> {
  const { lines, open } = readers.get(name)!
  const block = logOf(lines())
  const chunks = chunksOf(block, 65_536)
  const log = repeated('', chunks, Math.round((gigabytes * 1e9) / block.length), '')
  let bytes = 0
  let before = process.cpuUsage()
  log.on('data', (chunk: Buffer) => {
    const gigabyte = Math.floor(bytes / 1e9)
    bytes += chunk.length
    if (Math.floor(bytes / 1e9) === gigabyte) return
    const { user, system } = process.cpuUsage(before)
    before = process.cpuUsage()
    const rss = (process.memoryUsage.rss() / 1e6).toFixed(0)
    // RSS includes garbage that was not collected yet. A leak shows in the heap after a collection.
    globalThis.gc?.()
    const heap = (process.memoryUsage().heapUsed / 1e6).toFixed(1)
    const cpu = ((user + system) / 1e6).toFixed(1)
    console.log(`${name}: GB ${gigabyte + 1} in ${cpu} CPU s, RSS ${rss} MB, heap in use ${heap} MB`)
  })
  let found = 0
  await batched(log.pipe(open()), () => {
    found++
  })
  console.log(`${name}: ${(bytes / 1e9).toFixed(1)} GB, ${found} found`)
}
