// Measures the start-up of the built command against that of Node itself: `npm run build && npm run startup`.
// With --write the figures go to docs/runtimes.md. Exits with 1 if `sluice --version` takes more than LIMIT
// times `node -e 0`.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { argv, execPath } from 'node:process'

const LIMIT = 1.5
/** The two run alternately, so that a busy machine slows down both. */
const PAIRS = 41

const page = 'docs/runtimes.md'
const [begin, end] = ['<!-- startup:begin -->', '<!-- startup:end -->']
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
  `${process.arch}; \`npm run build && npm run startup -- --write\`).`
console.log(line)

if (argv.includes('--write')) {
  const [before, rest] = readFileSync(page, 'utf8').split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the start-up`)
  writeFileSync(page, `${before}${begin}\n${line}\n${end}${after}`)
}
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
