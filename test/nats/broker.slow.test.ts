import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BlockEnd, type Broker, Rewound, type StoredBlock } from '../../src/nats/broker.ts'
import { natsBroker } from '../../src/nats/nats-broker.ts'
import { memoryBroker } from './memory-broker.ts'
import { hasNats, type NatsServer, natsCluster, natsServer, until } from './nats-server.ts'

// What any broker must do that takes the place of NATS.

let servers: NatsServer[] = []
beforeAll(async () => {
  if (hasNats) servers = [await natsServer(), ...(await natsCluster())]
}, 60_000)
afterAll(() => Promise.all(servers.map((server) => server.close())))

const makers: [string, boolean, () => Promise<Broker>][] = [
  ['in memory', true, async () => memoryBroker()],
  [
    'NATS',
    hasNats,
    () => natsBroker({ servers: servers[0]!.url, stream: `s${Math.random().toString(36).slice(2)}` }),
  ],
  [
    'NATS, on three servers',
    hasNats,
    () =>
      natsBroker({
        servers: servers.slice(1).map(({ url }) => url),
        stream: `s${Math.random().toString(36).slice(2)}`,
        replicas: 3,
      }),
  ],
]

const a = { tenant: 't', run: 'a' }
const b = { tenant: 'u', run: 'b%2E%2A' }
const end = (seq: number, more: Partial<BlockEnd> = {}): BlockEnd => ({
  attempt: 1,
  seq,
  hash: `h${seq}`,
  ...more,
})
const bytes = (text: string) => Buffer.from(text)

describe.each(makers)('a broker: %s', (_, there, make) => {
  const it = test.skipIf(!there)

  it('takes a block only where the last one of its run is', async () => {
    const broker = await make()
    expect(await broker.last(a)).toBeUndefined()
    expect(await broker.append(a, end(1), bytes('1\n'), 7)).toBeUndefined()
    const first = (await broker.append(a, end(1), bytes('1\n'), 0))!
    expect(await broker.append(a, end(1), bytes('1\n'), 0)).toBeUndefined()
    // Another run in between does not count.
    const other = (await broker.append(b, end(9), bytes('9\n'), 0))!
    expect(await broker.append(a, end(2), bytes('2\n'), other)).toBeUndefined()
    const second = (await broker.append(a, end(2), bytes('2\n'), first))!
    expect([first, other, second]).toEqual([first, other, second].sort((x, y) => x - y))
    expect(await broker.last(a)).toMatchObject({ at: second, end: end(2) })
    expect(await broker.state()).toMatchObject({ last: second })
    await broker.close()
  })

  it('of many who append at the same place, takes one', async () => {
    const broker = await make()
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, n) => broker.append(a, end(n + 1), bytes(`${n}\n`), 0)),
    )
    expect(all.filter((at) => at !== undefined)).toHaveLength(1)
    await broker.close()
  })

  it('gives back what it was given, in order, then what comes, until the signal', async () => {
    const broker = await make()
    const sent: BlockEnd[] = [
      end(0, { attempt: 0, hash: '', part: { bytes: 3, hash: 'p' } }),
      end(1, { from: 3 }),
      end(3),
      end(3, { over: true }),
    ]
    let after = 0
    for (const [n, each] of sent.slice(0, 2).entries())
      after = (await broker.append(a, each, bytes(`é${n}`), after))!
    await broker.append(b, end(1), bytes('other'), 0)
    const stop = new AbortController()
    const found: StoredBlock[] = []
    for await (const block of broker.read(1, { tenant: 't' }, stop.signal)) {
      found.push(block)
      if (found.length === 2) {
        after = (await broker.append(a, sent[2]!, bytes('\u0000\n'), after))!
        await broker.append(a, sent[3]!, bytes(''), after)
      }
      if (found.length === 4) stop.abort()
    }
    expect(found.map((block) => block.end)).toEqual(sent)
    expect(found.map((block) => Buffer.from(block.bytes).toString())).toEqual(['é0', 'é1', '\u0000\n', ''])
    expect(found.map(({ name }) => name)).toEqual([a, a, a, a])
    const again = new AbortController()
    for await (const block of broker.read(found[1]!.at + 1, { run: 'a' }, again.signal)) {
      expect(block.at).toBe(found[2]!.at)
      again.abort()
    }
    await broker.close()
  })

  it('counts what a reader has not read yet: of its runs, and none of what others put there', async () => {
    const broker = await make()
    const first = (await broker.append(a, end(1), bytes('1\n'), 0))!
    const second = (await broker.append(a, end(2), bytes('2\n'), first))!
    const other = (await broker.append(b, end(1), bytes('1\n'), 0))!
    const counts = async (filter: { tenant?: string }) => {
      const found: number[] = []
      // A server that is behind does not count.
      for (const after of [0, first, second, other])
        await until(() =>
          broker
            .pending(after, filter)
            .then((n) => found.push(n) > 0)
            .catch(() => false),
        )
      return found
    }
    expect(await counts({})).toEqual([3, 2, 1, 0])
    expect(await counts({ tenant: 't' })).toEqual([2, 1, 0, 0])
    expect(await counts({ tenant: 'none' })).toEqual([0, 0, 0, 0])
    await broker.close()
  })

  it('tells a reader that it has lost what the reader has', async () => {
    const broker = await make()
    const first = (await broker.append(a, end(1), bytes('1\n'), 0))!
    const reading = (async () => {
      for await (const _ of broker.read(first + 2, {}, new AbortController().signal));
    })()
    await expect(reading).rejects.toBeInstanceOf(Rewound)
    await broker.close()
  })

  it('takes a block as large as it says', async () => {
    const broker = await make()
    const large = Buffer.alloc(broker.maxBlock, 'x')
    expect(await broker.append(a, end(1), large, 0)).toBeGreaterThan(0)
    const stop = new AbortController()
    for await (const block of broker.read(1, {}, stop.signal)) {
      expect(large.equals(block.bytes)).toBe(true)
      stop.abort()
    }
    await broker.close()
  })
})
