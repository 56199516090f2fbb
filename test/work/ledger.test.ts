import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { activate, conclude, ledger } from '../../src/work/ledger.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'work-ledger-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('has no entry before a run was made active', async () => {
  expect(await ledger(dir).read('shop#12')).toBeUndefined()
})

test('keeps issues apart and counts versions', async () => {
  const runs = ledger(dir)
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
  const runs = ledger(dir)
  const entry = await activate(runs, 'shop#12', 'run-1')
  expect(await runs.swap('shop#12', entry.version, { run_id: 'run-2', state: 'active' })).toBeDefined()
  expect(await runs.swap('shop#12', entry.version, { run_id: 'run-3', state: 'active' })).toBeUndefined()
  expect(await runs.swap('shop#12', 0, { run_id: 'run-3', state: 'active' })).toBeUndefined()
  expect(await runs.read('shop#12')).toMatchObject({ run_id: 'run-2' })
})

test('notes the end of the active run, and never touches that of another', async () => {
  const runs = ledger(dir)
  await activate(runs, 'shop#12', 'run-1')
  await activate(runs, 'shop#12', 'run-2')
  await conclude(runs, 'shop#12', 'run-1', 'ok')
  expect(await runs.read('shop#12')).toMatchObject({ run_id: 'run-2', state: 'active' })
  await conclude(runs, 'shop#12', 'run-2', 'blocked')
  expect(await runs.read('shop#12')).toMatchObject({ run_id: 'run-2', state: 'blocked' })
})

test('notes the end of any run while nobody was made the active one, and of no other after', async () => {
  const runs = ledger(dir)
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

test('stays small however often it changes', async () => {
  const runs = ledger(dir)
  for (let i = 0; i < 60; i++) await activate(runs, 'shop#12', `run-${i}`)
  expect((await runs.read('shop#12'))?.version).toBe(60)
  expect(readdirSync(join(dir, readdirSync(dir)[0]!)).length).toBeLessThanOrEqual(20)
})

test('fails with a clear fault where it cannot read', async () => {
  writeFileSync(join(dir, 'file'), '')
  await expect(ledger(join(dir, 'file')).read('shop#12')).rejects.toMatchObject({ code: 'LEDGER_FAILED' })
})

test('loses no change when several processes count in it at once', async () => {
  const source = fileURLToPath(new URL('../../src/work/ledger.ts', import.meta.url))
  const count = `
    import { ledger } from ${JSON.stringify(source)}
    const runs = ledger(${JSON.stringify(dir)})
    let won = 0
    while (won < 30) {
      const entry = await runs.read('shop#12')
      const n = Number(entry?.run_id ?? 0)
      if (await runs.swap('shop#12', entry?.version ?? 0, { run_id: String(n + 1), state: 'active' })) won++
    }`
  const children = [1, 2, 3].map(() =>
    spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', count]),
  )
  const ends = await Promise.all(
    children.map(async (child) => [await text(child.stderr), ...(await once(child, 'exit'))]),
  )
  expect(ends).toEqual(children.map(() => ['', 0, null]))
  expect(await ledger(dir).read('shop#12')).toMatchObject({ run_id: '90', version: 90 })
})

test('a run that is active already stays so, without a new version', async () => {
  const runs = ledger(dir)
  const entry = await activate(runs, 'shop#12', 'run-1')
  expect(await activate(runs, 'shop#12', 'run-1')).toEqual(entry)
  await conclude(runs, 'shop#12', 'run-1', 'ok')
  expect(await conclude(runs, 'shop#12', 'run-1', 'ok')).toMatchObject({ state: 'ok', version: 2 })
})

test('many at once agree on one entry for each version', async () => {
  const runs = ledger(dir)
  const names = Array.from({ length: 12 }, (_, n) => `run-${n}`)
  const entries = await Promise.all(names.map((name) => activate(ledger(dir), 'shop#12', name)))
  expect(entries.map(({ version }) => version).sort((a, b) => a - b)).toEqual(names.map((_, n) => n + 1))
  const last = entries.find(({ version }) => version === 12)!
  expect(await runs.read('shop#12')).toEqual(last)
  const ended = await Promise.all(names.map((name) => conclude(ledger(dir), 'shop#12', name, 'fail')))
  expect(new Set(ended.map((entry) => entry?.run_id))).toEqual(new Set([last.run_id]))
  expect(await runs.read('shop#12')).toMatchObject({ run_id: last.run_id, state: 'fail', version: 13 })
})

test.each([
  ['null', 'it holds "null", which is no entry'],
  ['7', 'it holds "7", which is no entry'],
  ['[]', 'not an entry of this issue'],
  ['{', 'not JSON'],
  ['{"issue_ref":"other","run_id":"x"}', 'not an entry of this issue'],
  ['{"issue_ref":"shop#12"}', 'not an entry of this issue'],
])('an entry that is none, %s, is a fault and is not written over', async (text, why) => {
  const runs = ledger(dir)
  await activate(runs, 'shop#12', 'run-1')
  const [folder] = readdirSync(dir)
  writeFileSync(join(dir, folder!, '000000002.json'), text)
  const fault = { code: 'LEDGER_FAILED', message: expect.stringContaining(why) }
  await expect(runs.read('shop#12')).rejects.toMatchObject(fault)
  await expect(activate(runs, 'shop#12', 'run-2')).rejects.toMatchObject(fault)
})

test.each<[string, (path: string) => void]>([
  ['a link to nowhere', (path) => symlinkSync('nowhere', path)],
  ['a link to an entry', (path) => symlinkSync('000000001.json', path)],
  ['a link to itself', (path) => symlinkSync(path, path)],
  ['a FIFO', (path) => execFileSync('mkfifo', [path])],
  ['a directory', (path) => mkdirSync(path)],
  [
    'a huge file',
    (path) => {
      writeFileSync(path, '')
      truncateSync(path, 2 ** 31)
    },
  ],
  ['an entry with the number of another', (path) => copyFileSync(path.replace('2.json', '1.json'), path)],
  [
    'no state',
    (path) => writeFileSync(path, '{"issue_ref":"shop#12","run_id":"x","version":2,"state":"done"}'),
  ],
])(
  '%s in the place of an entry was read in an endless loop, or taken; now it is one clear fault',
  async (_, make) => {
    const runs = ledger(dir)
    await activate(runs, 'shop#12', 'run-1')
    const path = join(dir, readdirSync(dir)[0]!, '000000002.json')
    make(path)
    const fault = { code: 'LEDGER_FAILED', message: expect.stringContaining(path) }
    await expect(runs.read('shop#12')).rejects.toMatchObject(fault)
    await expect(activate(runs, 'shop#12', 'run-2')).rejects.toMatchObject(fault)
    await expect(conclude(runs, 'shop#12', 'run-1', 'ok')).rejects.toMatchObject(fault)
  },
)

test.each(['the ledger', 'the folder of the issue'])(
  '%s is a link to nowhere: told before the work',
  async (what) => {
    await activate(ledger(dir), 'shop#12', 'run-1')
    const place = what === 'the ledger' ? dir : join(dir, readdirSync(dir)[0]!)
    rmSync(place, { recursive: true })
    symlinkSync(join(dir, '..', 'nowhere-at-all'), place)
    await expect(ledger(dir).read('shop#12')).rejects.toMatchObject({
      code: 'LEDGER_FAILED',
      message: expect.stringContaining('a symbolic link to nowhere'),
    })
  },
)

test('files that are no entries are left alone', async () => {
  const runs = ledger(dir)
  await activate(runs, 'shop#12', 'run-1')
  const folder = join(dir, readdirSync(dir)[0]!)
  writeFileSync(join(folder, 'README'), 'hello')
  symlinkSync('nowhere', join(folder, '2.json'))
  expect(await activate(runs, 'shop#12', 'run-2')).toMatchObject({ version: 2 })
  expect(readdirSync(folder).sort()).toEqual(['000000001.json', '000000002.json', '2.json', 'README'])
})

test('a ledger that cannot be written is a fault', async () => {
  writeFileSync(join(dir, 'file'), '')
  const runs = ledger(join(dir, 'file'))
  await expect(runs.swap('shop#12', 0, { run_id: 'r', state: 'active' })).rejects.toMatchObject({
    code: 'LEDGER_FAILED',
  })
})
