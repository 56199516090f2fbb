import { expect, test } from 'vitest'
import { activate, conclude, type Ledger } from '../../src/work/ledger.ts'

/**
 * What every ledger must do. `open` gives one more over the same storage, which is empty at the start of each
 * test.
 */
export function ledgerContract(open: () => Ledger): void {
  test('has no entry before a run was made active', async () => {
    expect(await open().read('shop#12')).toBeUndefined()
  })

  test('keeps issues apart and counts versions', async () => {
    const runs = open()
    await activate(runs, 'shop#12', 'run-1')
    await activate(runs, 'shop#13', 'run-9')
    await activate(runs, 'shop#12', 'run-2')
    expect(await runs.read('shop#12')).toEqual({
      issue_ref: 'shop#12',
      run_id: 'run-2',
      state: 'active',
      version: 2,
    })
    expect(await runs.read('shop#13')).toMatchObject({ run_id: 'run-9', version: 1 })
  })

  test('writes only on top of the version that was read', async () => {
    const runs = open()
    const entry = await activate(runs, 'shop#12', 'run-1')
    expect(await runs.swap('shop#12', entry.version, { run_id: 'run-2', state: 'active' })).toBeDefined()
    expect(await runs.swap('shop#12', entry.version, { run_id: 'run-3', state: 'active' })).toBeUndefined()
    expect(await runs.swap('shop#12', 0, { run_id: 'run-3', state: 'active' })).toBeUndefined()
    expect(await runs.read('shop#12')).toMatchObject({ run_id: 'run-2' })
  })

  test('notes the end of the active run, and never touches that of another', async () => {
    const runs = open()
    await activate(runs, 'shop#12', 'run-1')
    await activate(runs, 'shop#12', 'run-2')
    await conclude(runs, 'shop#12', 'run-1', 'ok')
    expect(await runs.read('shop#12')).toMatchObject({ run_id: 'run-2', state: 'active' })
    await conclude(runs, 'shop#12', 'run-2', 'blocked')
    expect(await runs.read('shop#12')).toMatchObject({ run_id: 'run-2', state: 'blocked' })
  })

  test('notes the end of any run while none was made the active one, and of no other after', async () => {
    const runs = open()
    await conclude(runs, 'shop#12', 'run-1', 'ok')
    await conclude(runs, 'shop#12', 'run-2', 'fail')
    expect(await runs.read('shop#12')).toMatchObject({ run_id: 'run-2', state: 'fail', activated: false })
    await conclude(runs, 'shop#12', 'run-2', 'fail')
    expect(await runs.read('shop#12')).toMatchObject({ version: 2 })
    // It has ended, and stays so.
    await activate(runs, 'shop#12', 'run-2')
    expect(await runs.read('shop#12')).toEqual({
      issue_ref: 'shop#12',
      run_id: 'run-2',
      state: 'fail',
      version: 3,
    })
    await conclude(runs, 'shop#12', 'run-1', 'ok')
    expect(await runs.read('shop#12')).toMatchObject({ run_id: 'run-2', state: 'fail', version: 3 })
  })

  test('a run that is active already stays so, without a new version', async () => {
    const runs = open()
    const entry = await activate(runs, 'shop#12', 'run-1')
    expect(await activate(runs, 'shop#12', 'run-1')).toEqual(entry)
    await conclude(runs, 'shop#12', 'run-1', 'ok')
    expect(await conclude(runs, 'shop#12', 'run-1', 'ok')).toMatchObject({ state: 'ok', version: 2 })
  })

  test('many at once agree on one entry for each version', async () => {
    const runs = open()
    const names = Array.from({ length: 12 }, (_, n) => `run-${n}`)
    const entries = await Promise.all(names.map((name) => activate(open(), 'shop#12', name)))
    expect(entries.map(({ version }) => version).sort((a, b) => a - b)).toEqual(names.map((_, n) => n + 1))
    const last = entries.find(({ version }) => version === 12)!
    expect(await runs.read('shop#12')).toEqual(last)
    const ended = await Promise.all(names.map((name) => conclude(open(), 'shop#12', name, 'fail')))
    expect(new Set(ended.map((entry) => entry?.run_id))).toEqual(new Set([last.run_id]))
    expect(await runs.read('shop#12')).toMatchObject({ run_id: last.run_id, state: 'fail', version: 13 })
  })
}
