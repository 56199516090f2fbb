import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mirror } from '../../src/nats/mirror.ts'
import { ship } from '../../src/nats/ship.ts'
import { seeded } from '../frames/hostile.ts'
import { loops, seed } from '../pace.ts'
import { hasNats, type NatsServer, natsCluster, needsNats } from './nats-server.ts'
import { writeRun } from './runs.ts'

let dir = ''
let servers: NatsServer[] = []
beforeAll(async () => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-idle-')))
  if (hasNats) servers = await natsCluster()
}, 60_000)
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()))
  rmSync(dir, { recursive: true, force: true })
}, 60_000)

describe.skipIf(!hasNats)(`one of three servers is killed while a mirror starts${needsNats}`, () => {
  test(
    'it returns with all runs, never with a part of them',
    async () => {
      const random = seeded(seed)
      const options = { servers: servers.map(({ url }) => url), replicas: 3, connectTimeout: 20_000 }
      for (let n = 0; n < 300; n++) writeRun(join(dir, 'host', `r${n}`), `r${n}`, 1)
      await ship(join(dir, 'host'), options)
      for (let round = 0; round < loops(100); round++) {
        const victim = servers[Math.floor(random() * 3)]!
        const killed = delay(random() * 600).then(() => victim.kill())
        if (random() < 0.5) await killed
        const copy = join(dir, `copy-${round}`)
        const tenant = random() < 0.5 ? 'default' : undefined
        const found = await mirror(copy, { ...options, tenant, untilIdle: 300 })
        expect(found, `round ${round}`).toEqual({ runs: 300, over: 300, events: 300 })
        rmSync(copy, { recursive: true })
        await killed
        await victim.start()
        await delay(random() * 1500)
      }
    },
    loops(100) * 60_000,
  )
})
