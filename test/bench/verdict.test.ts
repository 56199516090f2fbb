import { expect, test } from 'vitest'
import type { CandidateResult, Goal, SceneResult } from '../../bench/measure.ts'
import { plot } from '../../bench/plot.ts'
import type { Results } from '../../bench/results.ts'
import { table } from '../../bench/table.ts'
import { verdicts } from '../../bench/verdict.ts'
import { workloads } from '../../bench/workloads/index.ts'

test('real bytes come first, in the table and in the plot', () => {
  expect([...workloads.keys()][0]).toBe('W2r')
})

test('a goal against several is one against the fastest of them', () => {
  const goal: Goal = { ours: 'ours', against: ['slow', 'fast'], atLeast: 2 }
  const [verdict] = verdicts(run(goal, [peer('slow', 10), peer('fast', 50)]))
  expect(verdict).toMatchObject({ measured: '2.00 ×', met: true })
  expect(verdict!.goal).toContain('the fastest of slow, fast')
})

test('a goal that the limit itself does not reach is out of reach, not missed', () => {
  const goal: Goal = { ours: 'ours', against: 'fast', atLeast: 2, within: 'limit' }
  const limit: CandidateResult = { name: 'limit', role: 'limit', speeds: [105] }
  const results = run(goal, [peer('fast', 70), limit])
  expect(verdicts(results)).toMatchObject([{ met: false, moot: 'out of reach: the limit is 1.50 ×' }])
  expect(table(results)).toContain('out of reach')
  expect(table(results)).not.toContain('missed')
})

test('a goal against a program that is not installed is skipped by name', () => {
  const goal: Goal = { ours: 'ours', against: 'jq -c .', atLeast: 2 }
  const jq: CandidateResult = { name: 'jq -c .', role: 'peer', skipped: 'jq is not installed', speeds: [] }
  const text = table(run(goal, [jq]))
  expect(text).toContain('skipped: jq is not installed')
  expect(text).not.toContain('missed')
  expect(text).not.toContain('NaN')
})

test('whole programs are shown in seconds on the wall, and grep beside them has no bar', () => {
  const grep: CandidateResult = { name: 'grep', role: 'limit', speeds: [2000] }
  const results = run({ ours: 'ours', against: 'jq', atLeast: 2 }, [peer('jq', 50), grep], 'wall')
  expect(table(results)).toContain('| MB per s |')
  expect(plot(results)).toContain('MB per second on the wall')
  expect(plot(results)).not.toContain('grep')
})

function peer(name: string, speed: number): CandidateResult {
  return { name, role: 'peer', speeds: [speed] }
}

/** One scene in which ours reaches 100. */
function run(goal: Goal, others: readonly CandidateResult[], clock: SceneResult['clock'] = 'cpu'): Results {
  const ours: CandidateResult = { name: 'ours', role: 'ours', speeds: [100] }
  const scene = {
    id: 'W0',
    title: 'a title',
    input: 'an input',
    scene: 'a scene',
    bytes: 1,
    candidates: [ours, ...others],
    goals: [goal],
    clock,
    unit: 'MB' as const,
  }
  const machine = { cpu: 'cpu', cores: 1, memory: '1 GiB', system: 'linux', node: 'v20' }
  return {
    machine,
    date: '',
    command: '',
    quick: false,
    rounds: 1,
    scenes: [scene],
    memory: [],
    linear: [],
  }
}
