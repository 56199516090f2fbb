/**
 * Many runs: `npm run load [-- RUNS [AT_ONCE]]`. Each starts a real process, records it and reads its events;
 * prints the heap before and after, and what is left open. Finally AT_ONCE agents that do not exit: what they
 * need while all of them run.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codex } from '../src/engines/codex/codex.ts'
import { run } from '../src/run/run.ts'

const [runs = 1000, atOnce = 200] = process.argv.slice(2).map(Number)
const folder = mkdtempSync(join(tmpdir(), 'sluice-load-'))
const log = ['{"type":"thread.started","thread_id":"t"}', '{"type":"turn.completed","usage":{}}'].join('\\n')
let next = 0

async function one(): Promise<void> {
  const audit = join(folder, String(next++))
  const live = run({
    command: 'printf',
    args: [`${log}\\n`],
    engine: codex,
    audit,
    fsDiff: false,
    fsync: 'end',
  })
  let events = 0
  for await (const _ of live) events++
  const { completion } = await live.end
  if (completion.state !== 'awaiting_user_input' || events < 3)
    throw new Error(`${events}, ${completion.state}`)
  rmSync(audit, { recursive: true })
}

/** The used heap and the open files, after a pause. */
async function rested() {
  for (let turn = 0; turn < 5; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    global.gc?.()
  }
  const { heapUsed, rss } = process.memoryUsage()
  const files = process.platform === 'linux' ? readdirSync('/proc/self/fd').length : undefined
  return { heap_mb: Math.round(heapUsed / 1e5) / 10, rss_mb: Math.round(rss / 1e6), files }
}

// The first runs fill caches and compile code, which is not a leak.
for (let i = 0; i < Math.min(50, runs); i++) await one()
const before = await rested()
let started = performance.now()
for (let i = 0; i < runs; i++) await one()
const seconds = () => Math.round((performance.now() - started) / 100) / 10
console.log(JSON.stringify({ one_after_the_other: runs, seconds: seconds(), before, after: await rested() }))
started = performance.now()
await Promise.all(Array.from({ length: atOnce }, one))
console.log(JSON.stringify({ at_once: atOnce, seconds: seconds(), after: await rested() }))

// Agents that stay: each is ended when all of them have written something.
const idle = await rested()
let speaking = 0
let allSpeak = () => {}
const all = new Promise<void>((resolve) => (allSpeak = resolve))
const agents = Array.from({ length: atOnce }, () => {
  const audit = join(folder, String(next++))
  const args = ['-c', `printf '${log}\\n'; exec sleep 120`]
  return run({ command: 'sh', args, engine: codex, audit, fsDiff: false, fsync: 'end' })
})
const ends = agents.map(async (agent) => {
  agent.once('data', () => ++speaking === atOnce && allSpeak())
  await agent.end
})
await all
console.log(JSON.stringify({ running: atOnce, before: idle, during: await rested() }))
for (const agent of agents) agent.kill('SIGTERM')
await Promise.all(ends)
rmSync(folder, { recursive: true })
