// Kills `sluice run` with SIGKILL at random moments, on pipes, on a PTY and on both, kills every third
// `sluice replay --resume` after it, too, and checks each time that a resume makes everything whole.
//   npx tsx bench/kill.ts [times=200] [seed]
import { rmSync } from 'node:fs'
import { buildPrograms } from '../test/built.ts'
import { type KillMode, killOnce } from '../test/run/kill-once.ts'

const built = await buildPrograms()
process.env['SLUICE_BUILT'] = built
process.on('exit', () => rmSync(built, { recursive: true, force: true }))

const times = Number(process.argv[2] ?? 200)
let state = Number(process.argv[3] ?? Date.now() % 1_000_000)
console.log(`${times} kills, seed ${state}`)

// A small generator, so that a failure can be shown again.
function random(): number {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31
  return state / 2 ** 31
}

const START_MS = 300
const modes: readonly KillMode[] = ['pipes', 'pty', 'both']
const tallies = modes.map((mode) => ({
  mode,
  kills: 0,
  inside: 0,
  early: 0,
  late: 0,
  resumeKills: 0,
  resumed: 0,
}))
const began = performance.now()
for (let i = 0; i < times; i++) {
  const tally = tallies[i % modes.length]!
  const from = random() < 0.2 ? 'start' : 'output'
  const ms = random() * (from === 'start' ? START_MS : 250)
  const resumeMs = random() < 1 / 3 ? random() * 1.5 * START_MS : undefined
  const moment = { from, ms, mode: tally.mode } as const
  const kill = await killOnce(resumeMs === undefined ? moment : { ...moment, resumeMs })
  tally.kills++
  if (resumeMs !== undefined) tally.resumeKills++
  if (kill.kept === 0) tally.early++
  else if (kill.kept < kill.after) tally.inside++
  else tally.late++
  tally.resumed += kill.after - kill.kept
}
const seconds = (performance.now() - began) / 1000
for (const { mode, kills, inside, early, late, resumeKills, resumed } of tallies) {
  console.log(
    `${mode}: ${kills} kills, all whole: ${inside} in mid-run, ${early} before the first event, ${late} after the last; ` +
      `${resumeKills} resumes killed, too; ${resumed} events completed by resume`,
  )
}
console.log(`${seconds.toFixed(0)} s`)
