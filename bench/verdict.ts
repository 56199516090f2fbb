import { type CandidateResult, median, ratio, type SceneResult, type WaitGoal } from './measure.ts'
import type { MemoryResult } from './memory.ts'
import type { Results } from './results.ts'

/** Time at 2n over time at n. */
export const MAX_RATIO = 2.3
/** From the smallest input to the largest, our peak may grow by so many MB. */
const MAX_GROWTH = 10

/** One goal and what became of it. */
export interface Verdict {
  readonly id: string
  readonly goal: string
  readonly measured: string
  readonly met: boolean
  /** Why it is neither met nor missed. */
  readonly moot?: string
}

/** Every goal of the run, met or missed. */
export function verdicts(results: Results): Verdict[] {
  const speed = results.rounds > 0 ? results.scenes.flatMap(sceneVerdicts) : []
  return [...speed, ...memoryVerdicts(results.memory), ...linearVerdicts(results)]
}

/** What must hold on any machine: right answers of ours, bounded memory, linear time with room for noise. */
export function failures(results: Results): string[] {
  const wrong = results.scenes.flatMap(({ id, scene, candidates }) =>
    candidates
      .filter(({ role, wrong }) => role !== 'peer' && wrong)
      .map(({ name, wrong }) => `${id}, ${scene}: ${name} ${wrong}`),
  )
  const memory = memoryVerdicts(results.memory, 3 * MAX_GROWTH).filter(({ met }) => !met)
  const linear = results.linear.filter((family) => family.ratio > GENEROUS_RATIO)
  return [
    ...wrong,
    ...memory.map(({ goal, measured }) => `${goal}: ${measured}`),
    ...linear.map(
      (family) => `${family.name}: twice the input took ${family.ratio.toFixed(2)} times as long`,
    ),
  ]
}

/** Far above what noise does to a linear family, below what a quadratic one shows. */
const GENEROUS_RATIO = 3

function sceneVerdicts(scene: SceneResult): Verdict[] {
  const named = (name: string) => scene.candidates.find((candidate) => candidate.name === name)
  return scene.goals.map((goal) => {
    if ('atMostMs' in goal) return waitVerdict(scene, goal, named(goal.ours))
    const { ours, against, atLeast, within } = goal
    const names = typeof against === 'string' ? [against] : against
    const others = names.flatMap((name) => named(name) ?? [])
    const one = named(ours)
    const other = fastest(others) ?? others[0]
    const reached = one && other ? ratio(one, other) : Number.NaN
    const limit = within === undefined ? undefined : named(within)
    const most = limit && other ? ratio(limit, other) : Number.POSITIVE_INFINITY
    const skipped = one?.skipped ?? other?.skipped
    const moot = skipped ?? (most < atLeast ? `out of reach: the limit is ${most.toFixed(2)} ×` : undefined)
    const words = names.length === 1 ? names[0] : `the fastest of ${names.join(', ')}`
    return {
      id: scene.id,
      goal: `${ours} ≥ ${Number(atLeast.toFixed(2))} × ${words} (${scene.scene})`,
      measured: one?.wrong || other?.wrong ? 'WRONG' : skipped ? '' : `${reached.toFixed(2)} ×`,
      met: reached >= atLeast,
      ...(moot !== undefined && { moot }),
    }
  })
}

function waitVerdict({ id, scene }: SceneResult, goal: WaitGoal, ours: CandidateResult | undefined): Verdict {
  const waited = median(ours?.speeds ?? [])
  const measured = ours?.wrong ? 'WRONG' : `${waited.toFixed(0)} ms`
  return { id, goal: `${goal.ours} ≤ ${goal.atMostMs} ms (${scene})`, measured, met: waited <= goal.atMostMs }
}

function memoryVerdicts(memory: readonly MemoryResult[], maxGrowth = MAX_GROWTH): Verdict[] {
  return groups(memory)
    .filter(([first]) => first!.role === 'ours')
    .flatMap((sizes): Verdict[] => {
      const first = sizes[0]!
      const last = sizes.at(-1)!
      const wrong = sizes.find((one) => one.wrong)?.wrong
      const growth = last.peak - first.peak
      const growing = {
        id: 'M',
        goal: `${first.name}, ${first.input}: peak grows ≤ ${maxGrowth} MB from ${first.megabytes} to ${last.megabytes} MB`,
        measured: wrong ? `WRONG: ${wrong}` : `${growth.toFixed(1)} MB, to ${last.peak.toFixed(0)} MB`,
        met: !wrong && growth <= maxGrowth,
      }
      if (first.maxPeak === undefined) return [growing]
      const peak = Math.max(...sizes.map((one) => one.peak))
      const goal = `${first.name}, ${first.input}: peak ≤ ${first.maxPeak} MB`
      const met = !wrong && peak <= first.maxPeak
      return [growing, { id: 'W4', goal, measured: `${peak.toFixed(0)} MB`, met }]
    })
}

/** One list for each reader and input, from the smallest size to the largest. */
export function groups(memory: readonly MemoryResult[]): MemoryResult[][] {
  const byCase = new Map<string, MemoryResult[]>()
  for (const one of memory) {
    const key = `${one.name} ${one.input}`
    byCase.set(key, [...(byCase.get(key) ?? []), one])
  }
  return [...byCase.values()]
}

function linearVerdicts({ linear }: Results): Verdict[] {
  if (linear.length === 0) return []
  const worst = linear.reduce((a, b) => (a.ratio > b.ratio ? a : b))
  return [
    {
      id: 'linear',
      goal: `${linear.length} hostile families: CPU at 2n ≤ ${MAX_RATIO} × CPU at n`,
      measured: `at most ${worst.ratio.toFixed(2)} × (${worst.name})`,
      met: worst.ratio <= MAX_RATIO,
    },
  ]
}

export function bestPeer(scene: SceneResult): CandidateResult | undefined {
  return fastest(scene.candidates.filter(({ role }) => role === 'peer'))
}

export function limitOf(scene: SceneResult): CandidateResult | undefined {
  return fastest(scene.candidates.filter(({ role }) => role === 'limit'))
}

function fastest(candidates: readonly CandidateResult[]): CandidateResult | undefined {
  return candidates
    .filter(({ speeds }) => speeds.length > 0)
    .toSorted((a, b) => median(b.speeds) - median(a.speeds))[0]
}
