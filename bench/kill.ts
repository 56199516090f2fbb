// Kills `sluice run` with SIGKILL at random moments and checks after each that a resume makes everything whole.
//   npx tsx bench/kill.ts [times=200] [seed]
import { killOnce } from '../test/run/kill-once.ts'

const times = Number(process.argv[2] ?? 200)
let state = Number(process.argv[3] ?? Date.now() % 1_000_000)
console.log(`${times} kills, seed ${state}`)

// A small generator, so that a failure can be shown again.
function random(): number {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31
  return state / 2 ** 31
}

let inside = 0
let early = 0
let resumed = 0
const began = performance.now()
for (let i = 0; i < times; i++) {
  const from = random() < 0.2 ? 'start' : 'output'
  const kill = await killOnce({ from, ms: random() * (from === 'start' ? 900 : 250) })
  if (kill.kept === 0) early++
  else if (kill.kept < kill.after) inside++
  resumed += kill.after - kill.kept
}
const seconds = (performance.now() - began) / 1000
console.log(
  `all whole: ${inside} in mid-run, ${early} before the first event, ${times - inside - early} after the last; ` +
    `${resumed} events completed by resume; ${seconds.toFixed(0)} s`,
)
