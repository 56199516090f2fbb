// Measures the start-up of the built command against that of Node itself: `npm run build && npm run startup`.
// Exits with 1 if `sluice --version` takes more than LIMIT times `node -e 0`.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { execPath } from 'node:process'

const LIMIT = 1.5
/** The two run alternately, so that a busy machine slows down both. */
const PAIRS = 41

const main = 'dist/cli/main.js'

if (!existsSync(main)) throw new Error(`${main} is missing: run npm run build first`)

const node: number[] = []
const sluice: number[] = []
for (let i = 0; i < PAIRS; i++) {
  node.push(timeOf(['-e', '0']))
  sluice.push(timeOf([main, '--version']))
}
const ratio = median(sluice) / median(node)
const line =
  `\`sluice --version\` takes ${ratio.toFixed(2)} times as long as \`node -e 0\`: ${median(sluice).toFixed(0)} ms and ` +
  `${median(node).toFixed(0)} ms, medians of ${PAIRS} runs each, in turn\n(Node ${process.versions.node}, ${process.platform} ` +
  `${process.arch}; \`npm run build && npm run startup\`).`
console.log(line)

if (ratio > LIMIT) {
  console.error(`that is more than ${LIMIT} times`)
  process.exitCode = 1
}

function timeOf(args: readonly string[]): number {
  const started = performance.now()
  const { status } = spawnSync(execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  if (status !== 0) throw new Error(`node ${args.join(' ')} left with ${status}`)
  return performance.now() - started
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1]!
}
