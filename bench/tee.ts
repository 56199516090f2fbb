/**
 * What `sluice run --tee` costs per round trip: `tsx bench/tee.ts [TRIPS]`, after a build, on a quiet
 * machine. A client sends a request of ACP and waits for its answer, to the agent itself and through the
 * command, in turns. Prints microseconds on the wall, and the CPU time that the command took meanwhile (on
 * Linux).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const [trips = 2000] = process.argv.slice(2).map(Number)
const ROUNDS = 5
/** The first trips of each round are not counted. */
const WARM_UP = 200
/** Of Linux: a second has so many ticks. */
const TICKS = 100

// It answers every request at once.
const AGENT = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id } = JSON.parse(line)
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: { stopReason: 'end_turn' } }) + '\\n')
})`

const folder = mkdtempSync(join(tmpdir(), 'sluice-tee-'))
const plain: number[] = []
const teed: number[] = []
let cpu = 0
for (let round = 0; round < ROUNDS; round++) {
  await measure([process.execPath, '-e', AGENT], plain)
  const audit = join(folder, String(round))
  const words = ['run', '--tee', '--engine', 'acp', '--no-fs-diff', '--audit', audit]
  const command = [process.execPath, 'dist/cli/main.js', ...words, '--', process.execPath, '-e', AGENT]
  cpu += await measure(command, teed)
}
rmSync(folder, { recursive: true })
const added = percentile(teed, 50) - percentile(plain, 50)
console.log(`${ROUNDS} x ${trips} round trips, microseconds: median, 99 % below`)
console.log(`agent alone        ${percentile(plain, 50)}, ${percentile(plain, 99)}`)
console.log(`sluice run --tee   ${percentile(teed, 50)}, ${percentile(teed, 99)}`)
console.log(`added              ${added}, of CPU time of the command ${Math.round(cpu / ROUNDS / trips)}`)

/** Adds the microseconds of each trip; gives those of CPU time that the program took for all of them. */
async function measure([program = '', ...args]: readonly string[], times: number[]): Promise<number> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  const exited = once(child, 'exit')
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let before = 0
  for (let id = 1; id <= WARM_UP + trips; id++) {
    if (id === WARM_UP + 1) before = cpuOf(child.pid!)
    const params = { sessionId: 's', prompt: [{ type: 'text', text: 'Go on.' }] }
    const sent = performance.now()
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'session/prompt', params })}\n`)
    const { value } = await answers.next()
    if (JSON.parse(value).id !== id) throw new Error(`${id} was answered by ${value}`)
    if (id > WARM_UP) times.push((performance.now() - sent) * 1000)
  }
  const used = cpuOf(child.pid!) - before
  child.stdin.end()
  await exited
  return used
}

/** User and system time of a process in microseconds, in steps of ten milliseconds. */
function cpuOf(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = rest.split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS
}

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.floor((sorted.length * share) / 100)] ?? Number.NaN)
}
