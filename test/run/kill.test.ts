import { expect, test } from 'vitest'
import { killOnce } from './kill-once.ts'

// Twenty fixed moments over the life of a run; `bench/kill.ts` does 200 at random.
test('kill -9 at twenty moments, then a resume: nothing lost, nothing twice, nothing torn', {
  timeout: 180_000,
}, async () => {
  const kills = []
  for (let i = 0; i < 4; i++) kills.push(await killOnce({ from: 'start', ms: 150 + i * 130 }))
  for (let i = 0; i < 16; i++) kills.push(await killOnce({ from: 'output', ms: i * 20 }))
  expect(kills.filter((kill) => kill.kept > 0 && kill.kept < kill.after).length).toBeGreaterThan(3)
})
