import { expect, test } from 'vitest'
import { killOnce } from './kill-once.ts'

// A few moments over the life of a run; `bench/kill.ts` does 200 at random, SLUICE_KILLS=200 as many here.
const many = Math.max(1, Number(process.env['SLUICE_KILLS'] ?? 12) / 12)

test.each(['pipes', 'pty', 'both'] as const)(
  'kill -9 at moments over a run, then a resume: nothing lost, nothing twice, nothing torn (%s)',
  { timeout: 90_000 * many },
  async (mode) => {
    const kills = []
    for (let i = 0; i < many; i++)
      kills.push(await killOnce({ mode, from: 'start', ms: 120 + (i * 120) / many }))
    for (let i = 0; i < 3 * many; i++)
      kills.push(await killOnce({ mode, from: 'output', ms: (i * 80) / many }))
    expect(kills.filter((kill) => kill.kept > 0 && kill.kept <= kill.after).length).toBeGreaterThan(1)
  },
)

test.each(['pipes', 'both'] as const)(
  'kill -9 of the resume, too, then another: nothing lost, nothing twice (%s)',
  { timeout: 90_000 * many },
  async (mode) => {
    for (let i = 0; i < 2 * many; i++) {
      const kill = await killOnce({ mode, from: 'output', ms: 30, resumeMs: 100 + (i * 100) / many })
      expect(kill.after).toBeGreaterThan(1)
    }
  },
)
