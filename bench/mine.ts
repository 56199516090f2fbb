// Wall clock of mining a large log for one type of record, whole processes: npx tsx bench/mine.ts [MB]. Needs
// a build; jq and grep are left out, by name, where they are not installed.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agentLines } from './make.ts'
import { median } from './measure.ts'

const WANTED = 'turn.completed'
const ROUNDS = 3
const sluice = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const megabytes = Number(process.argv[2] ?? 1024)

const dir = mkdtempSync(join(tmpdir(), 'sluice-mine-'))
try {
  const log = join(dir, 'run.jsonl')
  const wanted = makeLog(log, megabytes * 1e6)
  const ways: Record<string, string> = {
    'sluice values --lines --where': `"${process.execPath}" "${sluice}" values --lines --where type=${WANTED} "${log}"`,
    'jq -c select': `jq -c 'select(.type=="${WANTED}")' "${log}"`,
    'grep | jq -c select': `grep -F '${WANTED}' "${log}" | jq -c 'select(.type=="${WANTED}")'`,
  }
  for (const [name, command] of Object.entries(ways)) {
    const missing = ['jq', 'grep'].find((tool) => command.includes(`${tool} -`) && !isInstalled(tool))
    if (missing) {
      console.log(`${name}: skipped, ${missing} is not installed`)
      continue
    }
    const seconds = Array.from({ length: ROUNDS }, () => timeOf(name, command, wanted))
    console.log(`${name}: ${median(seconds).toFixed(2)} s, ${(megabytes / median(seconds)).toFixed(0)} MB/s`)
  }
} finally {
  rmSync(dir, { recursive: true })
}

/** One record in a hundred is wanted. */
function makeLog(path: string, bytes: number): number {
  const lines = agentLines(32 << 20, 200, 4000).map((line, index) =>
    index % 100 === 50 ? line.replace(/"type":"item\.\w+"/, `"type":"${WANTED}"`) : line,
  )
  const block = Buffer.from(`${lines.join('\n')}\n`)
  const file = openSync(path, 'w')
  let blocks = 0
  for (; blocks * block.length < bytes; blocks++) writeSync(file, block)
  closeSync(file)
  return blocks * lines.filter((line) => line.startsWith(`{"type":"${WANTED}"`)).length
}

function isInstalled(tool: string): boolean {
  return spawnSync(tool, ['--version']).status === 0
}

/** Counts the lines that come out, so that a wrong answer is not timed. */
function timeOf(name: string, command: string, wanted: number): number {
  const started = performance.now()
  const { stdout } = spawnSync('sh', ['-c', `${command} | wc -l`], { encoding: 'utf8' })
  const seconds = (performance.now() - started) / 1000
  if (Number(stdout) !== wanted) throw new Error(`${name} finds ${stdout.trim()} of ${wanted}`)
  return seconds
}
