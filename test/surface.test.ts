import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SURFACE, surfaceFaults } from '../scripts/surface.ts'

const git = (dir: string, ...args: string[]) =>
  execFileSync('git', ['-C', dir, '-c', 'user.name=n', '-c', 'user.email=e@example.org', ...args], {
    stdio: 'pipe',
  })

/** A repository with a surface and a changelog; each call commits these. */
function repository() {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-surface-'))
  mkdirSync(join(dir, 'docs/api'), { recursive: true })
  git(dir, 'init', '-q')
  const write = (surface: string, ...lines: string[]) => {
    writeFileSync(join(dir, SURFACE), surface)
    writeFileSync(join(dir, 'CHANGELOG.md'), lines.map((line) => `- ${line}\n`).join(''))
  }
  const commit = (surface: string, ...lines: string[]) => {
    write(surface, ...lines)
    git(dir, 'add', '-A')
    git(dir, 'commit', '-q', '--allow-empty', '-m', 'x')
  }
  return { dir, write, commit }
}

const UNTOLD = [expect.stringContaining('CHANGELOG.md has no new line')]

test('a surface that is not what the code exports is told', () => {
  const { dir, commit } = repository()
  commit('a', 'one')
  expect(surfaceFaults('b', dir)).toEqual([expect.stringContaining('run npm run api')])
})

test('a change that is not committed yet wants a line of the changelog', () => {
  const { dir, commit, write } = repository()
  commit('a', 'one')
  expect(surfaceFaults('a', dir)).toEqual([])
  write('b', 'one')
  expect(surfaceFaults('b', dir)).toEqual(UNTOLD)
  write('b', 'one', 'two')
  expect(surfaceFaults('b', dir)).toEqual([])
})

test('a committed change wants it in the same commit, however many commits came since', () => {
  const { dir, commit } = repository()
  commit('a', 'one')
  commit('b', 'one')
  expect(surfaceFaults('b', dir)).toEqual(UNTOLD)
  commit('b', 'one', 'two, of something else')
  expect(surfaceFaults('b', dir)).toEqual(UNTOLD)
  commit('c', 'one', 'two, of something else', 'three')
  commit('c', 'one')
  expect(surfaceFaults('c', dir)).toEqual([])
})

test('without a history, or with the newest commit alone, the code is all there is to compare with', () => {
  const { dir, commit } = repository()
  commit('a', 'one')
  commit('b', 'one')
  const shallow = mkdtempSync(join(tmpdir(), 'sluice-surface-'))
  git(shallow, 'clone', '-q', '--depth', '1', `file://${dir}`, 'clone')
  expect(surfaceFaults('b', join(shallow, 'clone'))).toEqual([])
  const archive = mkdtempSync(join(tmpdir(), 'sluice-surface-'))
  cpSync(join(dir, 'docs'), join(archive, 'docs'), { recursive: true })
  expect(surfaceFaults('b', archive)).toEqual([])
})
