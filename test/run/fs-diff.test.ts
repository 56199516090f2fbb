import {
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
import { expect, test } from 'vitest'
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
