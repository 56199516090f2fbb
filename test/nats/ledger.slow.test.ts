import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type NatsLedger, natsLedger } from '../../src/nats/nats-ledger.ts'
import { activate } from '../../src/work/ledger.ts'
import { ledgerContract } from '../work/ledger-contract.ts'
import { hasNats, type NatsServer, natsServer, needsNats } from './nats-server.ts'

describe.skipIf(!hasNats)(`the ledger at NATS${needsNats}`, () => {
  let server: NatsServer
  let bucket = ''
  let opened: NatsLedger[] = []
  beforeAll(async () => {
    server = await natsServer()
  })
  afterAll(() => server.close())
  beforeEach(() => {
    bucket = `b${Math.random().toString(36).slice(2)}`
  })
  afterEach(async () => {
    await Promise.all(opened.map((runs) => runs.close()))
    opened = []
  })
  const open = () => {
    const runs = natsLedger({ servers: server.url, bucket })
    opened.push(runs)
    return runs
  }

  ledgerContract(open)

  test('many who count in it at once lose no change, also when the server is killed', async () => {
    const count = async () => {
      const runs = open()
      for (let won = 0; won < 15; ) {
        const entry = await runs.read('shop#12')
        const n = Number(entry?.run_id ?? 0)
        const next = { run_id: String(n + 1), state: 'active' } as const
        if (await runs.swap('shop#12', entry?.version ?? 0, next)) won++
      }
    }
    await open().read('shop#12')
    const counted = Promise.all([count(), count(), count()])
    await server.kill()
    await server.start()
    await counted
    const entry = await open().read('shop#12')
    expect(entry).toMatchObject({ run_id: '45', version: 45 })
  })

  test('the tools of NATS can read it, and an entry that a person deleted is none', async () => {
    const runs = open()
    await activate(runs, 'shop#12', 'run-1')
    const connection = await connect({ servers: server.url })
    const store = await new Kvm(connection).open(bucket)
    let key: string | undefined
    for await (const each of await store.keys()) key = each
    expect((await store.get(key!))?.json()).toEqual({
      issue_ref: 'shop#12',
      run_id: 'run-1',
      state: 'active',
      version: 1,
    })
    await store.delete(key!)
    expect(await runs.read('shop#12')).toBeUndefined()
    expect(await activate(runs, 'shop#12', 'run-2')).toMatchObject({ version: 1, run_id: 'run-2' })
    await store.put(key!, '{"issue_ref":"other"}')
    await expect(runs.read('shop#12')).rejects.toMatchObject({ code: 'LEDGER_FAILED' })
    await expect(activate(runs, 'shop#12', 'run-3')).rejects.toMatchObject({ code: 'LEDGER_FAILED' })
    await connection.close()
  })

  test('a server that is not there is told', async () => {
    const runs = natsLedger({ servers: 'nats://127.0.0.1:1', connectTimeout: 100 })
    await expect(runs.read('shop#12')).rejects.toMatchObject({ code: 'BROKER_FAILED' })
    expect(() => natsLedger({ bucket: 'a.b' })).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
  })
})
