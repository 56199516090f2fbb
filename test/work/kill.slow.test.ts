import { afterAll, expect, test } from 'vitest'
import { caseNames, killedWork } from './kill-work.ts'

const kills = Number(process.env['SLUICE_KILLS'] ?? 4)
const seed = Number(process.env['SLUICE_SEED'] ?? 13)

const sluice = killedWork()
afterAll(() => sluice.remove())

// A small generator, so that a failure can be shown again.
let state = seed
function random(): number {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31
  return state / 2 ** 31
}

test(`kill -9 of sluice work at ${kills} calls of the file system (SLUICE_KILLS=70 for more, seed ${seed}), then the same order again: one verdict, one delivery, one comment`, {
  timeout: 60_000 + kills * 30_000,
}, async () => {
  const calls = new Map<string, number>()
  const deliveries = new Map<string, number>()
  for (let i = 0; i < kills; i++) {
    const name = caseNames[i % caseNames.length]!
    const count = calls.get(name) ?? (await sluice.calls(name))
    calls.set(name, count)
    expect(count).toBeGreaterThan(20)
    const { signal, delivery } = await sluice.kill(name, 1 + Math.floor(random() * count))
    expect(signal).toBe('SIGKILL')
    deliveries.set(delivery, (deliveries.get(delivery) ?? 0) + 1)
  }
  if (kills > 20) console.log(Object.fromEntries([...calls, ...deliveries]))
})
