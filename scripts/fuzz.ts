/**
 * Checks the invariants with random input until the time is up:
 *
 *     npm run fuzz -- --hours 2 [--seconds 60] [--seed 7] [--only split-frames] [--from 0]
 *
 * Round n of seed s is always the same input (except the moment of a kill by time). A failing input is
 * minimized and saved in `.fuzz/`, with the command that repeats only its round; `.fuzz/status.json` has the
 * figures while it runs.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { agentEvents } from './fuzz/events.ts'
import { requests } from './fuzz/handler.ts'
import { journals } from './fuzz/journal.ts'
import { jsonParse } from './fuzz/json-parse.ts'
import { kills } from './fuzz/kills.ts'
import { merges } from './fuzz/merges.ts'
import { reference } from './fuzz/reference.ts'
import { splitFrames, splitValues } from './fuzz/split.ts'
import { wires } from './fuzz/wires.ts'

const { values: flags } = parseArgs({
  options: {
    hours: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    from: { type: 'string', default: '0' },
    rounds: { type: 'string', default: 'Infinity' },
    only: { type: 'string' },
  },
})
const seed = Number(flags.seed)
const seconds = flags.hours === undefined ? Number(flags.seconds) : Number(flags.hours) * 3600
if (!(seconds > 0)) throw new Error('--hours and --seconds are numbers above 0')
const FOLDER = '.fuzz'
/** A round takes a second or two; minimizing a failing input stops after this time. */
const MAX_ROUND_MS = 60_000

/** What one round of a property found. */
interface Found {
  readonly cases: number
  readonly failed: boolean
  readonly input: unknown
  readonly why: string
}

/** The properties take different arguments, but a round of each can be checked. */
const properties: Record<string, (seed: number) => Promise<Found>> = {
  'split-frames': checked(splitFrames, 100),
  'split-values': checked(splitValues, 100),
  'json-parse': checked(jsonParse, 100),
  reference: checked(reference, 100),
  merges: checked(merges, 100),
  events: checked(agentEvents, 50),
  wires: checked(wires, 50),
  journal: checked(journals, 20),
  handler: checked(requests, 20),
  // A case starts some processes.
  kills: checked(kills, 1),
}

const names = Object.keys(properties).filter((name) => !flags.only || flags.only === name)
if (names.length === 0) throw new Error(`--only is one of ${Object.keys(properties).join(', ')}`)
const cases: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]))
const failures: string[] = []
const started = Date.now()
let told = started
let round = Number(flags.from)
const last = round + Number(flags.rounds)

mkdirSync(FOLDER, { recursive: true })
for (; Date.now() - started < seconds * 1000 && round < last; round++) {
  for (const name of names) {
    const found = await properties[name]!(seed * 1_000_003 + round)
    cases[name]! += found.cases
    if (found.failed) save(name, found)
  }
  if (Date.now() - told > 30_000) tell()
}
tell()
process.exitCode = failures.length > 0 ? 1 : 0

/** Cases per round: enough to warm up, few enough that a failing round is repeated in a moment. */
function checked<T>(law: fc.IRawProperty<T, boolean>, numRuns: number) {
  return async (seed: number): Promise<Found> => {
    const { failed, counterexample, ...result } = await fc.check(law, {
      seed,
      numRuns,
      interruptAfterTimeLimit: MAX_ROUND_MS,
    })
    const why = 'errorInstance' in result ? String(result.errorInstance) : ''
    // A round whose time was over before its first case has found nothing.
    return { cases: result.numRuns, failed: failed && counterexample !== null, input: counterexample, why }
  }
}

function save(name: string, { input, why }: Found): void {
  const again = `npm run fuzz -- --only ${name} --seed ${seed} --from ${round} --rounds 1`
  const path = `${FOLDER}/${name}-${seed}-${round}.json`
  const bytes = (_: string, value: unknown) =>
    isBytes(value)
      ? {
          base64: Buffer.from(value.data).toString('base64'),
          latin1: Buffer.from(value.data).toString('latin1'),
        }
      : value
  writeFileSync(path, `${JSON.stringify({ again, input, why }, bytes, 1)}\n`)
  failures.push(path)
  console.error(`${name}: ${path}\n${why}`)
}

/** A Buffer as JSON.stringify passes it to its replacer. */
function isBytes(value: unknown): value is { data: number[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'Buffer' &&
    'data' in value
  )
}

function tell(): void {
  told = Date.now()
  const { user, system } = process.cpuUsage()
  const cpu_seconds = Math.round((user + system) / 1e6)
  const peak_rss_mb = Math.round(process.resourceUsage().maxRSS / 1024)
  const status = { seed, next_round: round, cases, failures, cpu_seconds, peak_rss_mb }
  writeFileSync(`${FOLDER}/status.json`, `${JSON.stringify(status, null, 1)}\n`)
  console.log(JSON.stringify(status))
}
