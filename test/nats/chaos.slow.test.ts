import { describe, expect, test } from 'vitest'
import { chaos } from './chaos.ts'
import { hasNats, needsNats } from './nats-server.ts'

// A short one; scripts/chaos.ts takes minutes and gives the figures of docs/hosts.md.

describe.skipIf(!hasNats)(`kill -9 of servers, shippers, mirror and reader at random${needsNats}`, () => {
  test.each([
    { servers: 1, minKills: 20 },
    { servers: 3, minKills: 12 },
  ] as const)(
    '$servers servers, $minKills kills: every journal arrives, byte for byte',
    async ({ servers, minKills }) => {
      const { kills, events, ...wrong } = await chaos({
        seconds: 1,
        minKills,
        servers,
        hosts: 2,
        runs: 2,
        pause: 120,
      })
      expect(wrong).toEqual({ lost: 0, twice: 0, outOfOrder: 0, differing: [], trouble: [] })
      expect(kills.server).toBeGreaterThan(0)
      expect(events).toBeGreaterThan(100)
    },
    300_000,
  )
})
