import { createHash } from 'node:crypto'

/** One way to read an input: it shows each value that it finds. */
export interface Candidate {
  readonly name: string
  readonly role: 'ours' | 'peer' | 'limit'
  run(visit: Visit): Promise<void> | void
  /** What it must find, if that is not what the scene expects: a search that only finds positions, say. */
  readonly expected?: Answer
  /**
   * What is timed, if that is not what was checked: the same program on a longer input, its output thrown
   * away.
   */
  timed?(): Promise<void>
  /** With the clock `wait`: milliseconds that somebody waited, measured by itself. */
  waited?(): Promise<number>
  /** Why it cannot run here: a program that is not installed. */
  readonly skipped?: string
}

export type Visit = (value: unknown) => void

export interface Answer {
  readonly count: number
  readonly hash: string
}

/** `ours` must reach `atLeast` times the speed of `against`: of the fastest, if these are several. */
export interface SpeedGoal {
  readonly ours: string
  readonly against: string | readonly string[]
  readonly atLeast: number
  /** A goal that this limit does not reach itself is shown as out of reach. */
  readonly within?: string
}

/** `ours` must make nobody wait longer than this. */
export interface WaitGoal {
  readonly ours: string
  readonly atMostMs: number
}

export type Goal = SpeedGoal | WaitGoal

/**
 * CPU seconds of this process, or seconds on the wall for processes that it starts, or what candidates say
 * that somebody waited.
 */
export type Clock = 'cpu' | 'wall' | 'wait'

/** Megabytes, or thousands of what the input holds. */
export type Unit = 'MB' | 'thousands'

/** One input, read in one way by several candidates. */
export interface Scene {
  readonly name: string
  readonly bytes: number
  readonly expected: Answer
  readonly candidates: readonly Candidate[]
  readonly goals?: readonly Goal[]
  /** @default 'cpu' */
  readonly clock?: Clock
  /** What speed is counted in: a few long lines may hold most of the bytes. @default 'MB' */
  readonly unit?: Unit
  /** At most so many rounds, and no warm-up: whole processes warm up themselves, and their runs are long. */
  readonly maxRounds?: number
}

export interface Workload {
  readonly id: string
  readonly title: string
  /** In words, what the input is. */
  readonly input: string
  scenes(quick: boolean): Iterable<Scene> | AsyncIterable<Scene>
}

export interface CandidateResult {
  readonly name: string
  readonly role: Candidate['role']
  /** Why it was not measured, if its answer was wrong. */
  readonly wrong?: string
  /** Why it did not run at all. */
  readonly skipped?: string
  /** The scene's unit per second of its clock, one for each round; milliseconds if that is `wait`. */
  readonly speeds: readonly number[]
}

export interface SceneResult {
  readonly id: string
  readonly title: string
  readonly input: string
  readonly scene: string
  readonly bytes: number
  readonly candidates: readonly CandidateResult[]
  readonly goals: readonly Goal[]
  readonly clock: Clock
  readonly unit: Unit
}

export interface Pace {
  readonly rounds: number
  /** A measured stretch lasts at least so long; a short run is repeated. */
  readonly minCpuMs: number
  /** So long runs each of them before it is measured, on average. */
  readonly warmUpMs: number
}

/** Counts the values and hashes them in order. */
export async function answerOf(run: Candidate['run']): Promise<Answer> {
  const hash = createHash('sha256')
  let count = 0
  await run((value) => {
    count++
    hash.update(`${JSON.stringify(value)}\n`)
  })
  return { count, hash: hash.digest('hex').slice(0, 16) }
}

export function answerTo(values: Iterable<unknown>): Promise<Answer> {
  return answerOf((visit) => {
    for (const value of values) visit(value)
  })
}

/**
 * Checks every answer, then measures those that are right, in rotated order. Without a pace it only checks.
 */
export async function measure(
  scene: Scene,
  pace: Pace | undefined,
): Promise<Pick<SceneResult, 'scene' | 'bytes' | 'candidates' | 'goals' | 'clock' | 'unit'>> {
  const { clock = 'cpu', unit = 'MB' } = scene
  const amount = unit === 'MB' ? scene.bytes / 1e6 : scene.expected.count / 1000
  const wrong = new Map<Candidate, string>()
  const present = scene.candidates.filter(({ skipped }) => skipped === undefined)
  for (const candidate of present) {
    const why = await mistakeOf(candidate, candidate.expected ?? scene.expected)
    if (why) wrong.set(candidate, why)
  }
  const right = present.filter((candidate) => !wrong.has(candidate))
  const speeds = new Map(scene.candidates.map((candidate) => [candidate, [] as number[]]))
  if (pace && right.length > 0) {
    const repeats = scene.maxRounds ? new Map<Candidate, number>() : await warmUp(right, pace)
    for (let round = 0; round < Math.min(pace.rounds, scene.maxRounds ?? pace.rounds); round++) {
      for (let turn = 0; turn < right.length; turn++) {
        const candidate = right[(turn + round) % right.length]!
        if (clock === 'wait') {
          speeds.get(candidate)!.push(await candidate.waited!())
          continue
        }
        const times = repeats.get(candidate) ?? 1
        const seconds = (await milliseconds(candidate, times, clock)) / 1000
        speeds.get(candidate)!.push((times * amount) / seconds)
      }
    }
  }
  return {
    scene: scene.name,
    bytes: scene.bytes,
    goals: scene.goals ?? [],
    clock,
    unit,
    candidates: scene.candidates.map((candidate) => ({
      name: candidate.name,
      role: candidate.role,
      ...(wrong.has(candidate) && { wrong: wrong.get(candidate)! }),
      ...(candidate.skipped !== undefined && { skipped: candidate.skipped }),
      speeds: speeds.get(candidate)!,
    })),
  }
}

async function mistakeOf(candidate: Candidate, expected: Answer): Promise<string | undefined> {
  let found: Answer
  try {
    found = await answerOf(candidate.run)
  } catch (error) {
    return `fails: ${String(error).slice(0, 80)}`
  }
  if (found.count !== expected.count) return `finds ${found.count} of ${expected.count}`
  return found.hash === expected.hash ? undefined : 'finds other values'
}

/**
 * Lets the compiler see everyone's code, in turns as they will be measured, and says how many runs of each
 * fill a measured stretch.
 */
async function warmUp(candidates: readonly Candidate[], pace: Pace): Promise<Map<Candidate, number>> {
  const repeats = new Map<Candidate, number>()
  let spent = 0
  while (spent < pace.warmUpMs * candidates.length) {
    for (const candidate of candidates) {
      const once = Math.max(0.1, await milliseconds(candidate, 1, 'cpu'))
      spent += once
      repeats.set(candidate, Math.max(1, Math.ceil(pace.minCpuMs / once)))
    }
  }
  return repeats
}

async function milliseconds(candidate: Candidate, times: number, clock: Clock): Promise<number> {
  let count = 0
  const visit = () => {
    count++
  }
  // Each begins with an empty nursery and pays for its own garbage. A full collection would also throw away
  // the compiled code of a candidate that had not run for a few turns, and so measure the compiler.
  globalThis.gc?.({ type: 'minor', execution: 'sync' })
  const began = performance.now()
  const before = process.cpuUsage()
  for (let run = 0; run < times; run++) await (candidate.timed?.() ?? candidate.run(visit))
  const { user, system } = process.cpuUsage(before)
  if (count === 0 && !candidate.timed)
    throw new Error(`${candidate.name} found nothing while it was measured`)
  return clock === 'wall' ? performance.now() - began : (user + system) / 1000
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length === 0) return Number.NaN
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * How often the one is as fast as the other: the median over the rounds, each of which ran under one weather.
 */
export function ratio(ours: CandidateResult, other: CandidateResult): number {
  return median(ours.speeds.map((speed, round) => speed / other.speeds[round]!))
}
