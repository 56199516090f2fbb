import fs, {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { compare, snapshot } from '../../src/run/fs-diff.ts'

function tree(...paths: string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'sluice-diff-'))
  for (const path of paths) put(root, path)
  return root
}
function put(root: string, path: string, text = path): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

test('does not see what other runs record beside it', async () => {
  const root = tree('a', 'runs/one/meta.1.json', 'runs/one/stdout.1.log', 'notes/meta.1.json')
  const before = await snapshot(root)
  for (const path of ['runs/one/events.jsonl', 'runs/two/meta.1.json', 'runs/two/stdout.1.log', 'notes/b'])
    put(root, path)
  expect(compare(before, await snapshot(root)).created).toEqual(['notes/b'])
})

test('sees what was created, modified, replaced and deleted', async () => {
  const root = tree('a', 'b', 'c', 'sub/d')
  const before = await snapshot(root)
  put(root, 'sub/deep/new')
  appendFileSync(join(root, 'a'), '!')
  rmSync(join(root, 'b'))
  put(root, 'c.tmp', 'c')
  renameSync(join(root, 'c.tmp'), join(root, 'c'))
  expect(compare(before, await snapshot(root))).toEqual({
    created: ['sub/deep/new'],
    modified: ['a', 'c'],
    deleted: ['b'],
  })
})

test('says nothing when nothing changed', async () => {
  const root = tree('a', 'sub/b')
  expect(compare(await snapshot(root), await snapshot(root))).toEqual({
    created: [],
    modified: [],
    deleted: [],
  })
})

test('leaves out .audit (however it is spelled), .git, the ignored folders and the audit directory itself', async () => {
  const root = tree('.gitignore')
  writeFileSync(join(root, '.gitignore'), '# comment\n/build\ncoverage/\n*.log\n!keep\nout/sub\n')
  const before = await snapshot(root, { except: join(root, 'records') })
  for (const path of [
    '.audit/x',
    '.Audit/x',
    '.git/x',
    'sub/node_modules/x',
    'build/x',
    'coverage/x',
    'records/x',
    'kept/x',
    'a.log',
  ])
    put(root, path)
  expect(compare(before, await snapshot(root, { except: join(root, 'records') })).created).toEqual([
    'a.log',
    'kept/x',
  ])
})

test('does not follow links', async () => {
  const outside = tree('secret')
  const root = tree('a')
  const before = await snapshot(root)
  symlinkSync(outside, join(root, 'link'))
  symlinkSync(root, join(root, 'loop'))
  expect(compare(before, await snapshot(root)).created).toEqual(['link', 'loop'])
})

test('beyond its bound it says only what is certain', async () => {
  const root = tree('a', 'b', 'c')
  const before = await snapshot(root, { maxFiles: 2 })
  put(root, 'd')
  const diff = compare(before, await snapshot(root))
  expect(diff).toMatchObject({ created: [], deleted: [], truncated: true })
})

test('a limit on the second look takes nothing for deleted', async () => {
  const root = tree('a', 'b', 'c')
  const before = await snapshot(root)
  put(root, 'a', 'other')
  const diff = compare(before, await snapshot(root, { maxFiles: 1 }))
  expect(diff.deleted).toEqual([])
  expect(diff.truncated).toBe(true)
})

test('a list of ignored names that is too long is not read', async () => {
  const root = tree()
  put(root, '.gitignore', `dist/\n${'x\n'.repeat(40_000)}`)
  put(root, 'dist/a')
  expect([...(await snapshot(root)).files.keys()]).toContain('dist/a')
  put(root, '.gitignore', 'dist/\n/\n*.log\n')
  expect([...(await snapshot(root)).files.keys()]).toEqual(['.gitignore'])
})

test('lets others have their turn while it looks at many files', async () => {
  const root = tree(...Array.from({ length: 600 }, (_, n) => `f${n}`))
  let turns = 0
  const count = setImmediate(function again() {
    turns++
    setImmediate(again).unref()
  })
  expect((await snapshot(root)).files.size).toBe(600)
  clearImmediate(count)
  expect(turns).toBeGreaterThan(0)
})

test('what goes away while it is looked at is not there', async () => {
  const root = tree('a', 'sub/b')
  const real = fs.readdirSync
  vi.spyOn(fs, 'readdirSync').mockImplementation(((path: string, options: object) => {
    const entries = real(path, options as { withFileTypes: true })
    rmSync(join(root, 'sub'), { recursive: true, force: true })
    rmSync(join(root, 'a'), { force: true })
    return entries
  }) as typeof fs.readdirSync)
  const { files, whole } = await snapshot(root)
  vi.restoreAllMocks()
  expect([files.size, whole]).toEqual([0, true])
})
