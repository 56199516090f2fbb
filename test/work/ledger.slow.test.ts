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
import { afterEach, beforeEach, expect, test } from 'vitest'
import { activate, conclude, ledger } from '../../src/work/ledger.ts'
import { built } from '../built.ts'
import { ledgerContract } from './ledger-contract.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'work-ledger-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

ledgerContract(() => ledger(dir))

test('stays small however often it changes', async () => {
  const runs = ledger(dir)
  for (let i = 0; i < 60; i++) await activate(runs, 'shop#12', `run-${i}`)
  expect((await runs.read('shop#12'))?.version).toBe(60)
  expect(readdirSync(join(dir, readdirSync(dir)[0]!)).length).toBeLessThanOrEqual(20)
})

test('fails with a clear fault where it cannot read or write', async () => {
  writeFileSync(join(dir, 'file'), '')
  const runs = ledger(join(dir, 'file'))
  const fault = { code: 'LEDGER_FAILED' }
  await expect(runs.read('shop#12')).rejects.toMatchObject(fault)
  await expect(runs.swap('shop#12', 0, { run_id: 'r', state: 'active' })).rejects.toMatchObject(fault)
})

test('loses no change when several processes count in it at once', async () => {
  const count = `
    import { ledger } from ${JSON.stringify(built('src/work.ts'))}
    const runs = ledger(${JSON.stringify(dir)})
    let won = 0
    while (won < 30) {
      const entry = await runs.read('shop#12')
      const n = Number(entry?.run_id ?? 0)
      if (await runs.swap('shop#12', entry?.version ?? 0, { run_id: String(n + 1), state: 'active' })) won++
    }`
  const children = [1, 2, 3].map(() => spawn(process.execPath, ['--input-type=module', '-e', count]))
  const ends = await Promise.all(
    children.map(async (child) => [await text(child.stderr), ...(await once(child, 'exit'))]),
  )
  expect(ends).toEqual(children.map(() => ['', 0, null]))
  expect(await ledger(dir).read('shop#12')).toMatchObject({ run_id: '90', version: 90 })
})

test.each([
  ['null', 'it holds "null", which is not an entry'],
  ['7', 'it holds "7", which is not an entry'],
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
      message: expect.stringContaining('a dangling symbolic link'),
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
