import { expect, test } from 'vitest'
import { watchdog } from '../../src/run/run-limits.ts'

test('neither limit counts the time during which the process waits for us', async () => {
  const started = Date.now()
  let waits = true
  const waited = () =>
    waits ? { ms: Date.now() - started, until: Date.now() } : { ms: 200, until: started + 200 }
  const rang: string[] = []
  const all = new Promise<void>((resolve) => {
    const ring = (name: string) => () => {
      rang.push(name)
      if (rang.length === 2) resolve()
    }
    const [onTimeout, onIdle] = [ring('timeout'), ring('idle')]
    watchdog({ timeout: 30, idleTimeout: 60, lastWrite: () => 0, waited, onTimeout, onIdle })
  })
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(rang).toEqual([])
  waits = false
  await all
  // On a busy host both are late, in any order.
  expect(rang.sort()).toEqual(['idle', 'timeout'])
})
