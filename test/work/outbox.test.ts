import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { digestOf } from '../../src/disk/cache.ts'
import { fileName, type OutboxPost, outbox } from '../../src/work/outbox.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'work-outbox-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const post = (result: string): OutboxPost => ({
  issue_ref: 'shop#12',
  run_id: 'run-7',
  digest: digestOf(result),
  comment: `Status: ${result}\n`,
  work: { result },
})
const names = (folder: string) => readdirSync(join(dir, folder))
const journal = () =>
  readFileSync(join(dir, 'journal.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('keeps a comment as one file and one line of the journal', async () => {
  const box = outbox(dir)
  expect(await box.find(post('ok'))).toBeUndefined()
  expect(await box.post(post('ok'))).toBeUndefined()
  expect(await box.find(post('ok'))).toBe(digestOf('ok'))
  expect(names('comments')).toHaveLength(1)
  const text = readFileSync(join(dir, 'comments', names('comments')[0]!), 'utf8')
  expect(text).toBe(`<!-- sluice-work ${digestOf('ok')} -->\nStatus: ok\n`)
  expect(journal()).toMatchObject([
    { kind: 'comment', issue_ref: 'shop#12', run_id: 'run-7', digest: digestOf('ok') },
  ])
})

test('posts a run once, and returns what is posted', async () => {
  await outbox(dir).post(post('ok'))
  expect(await outbox(dir).post(post('ok'))).toBe(digestOf('ok'))
  expect(await outbox(dir).post(post('fail'))).toBe(digestOf('ok'))
  // And no draft is left behind.
  expect(names('comments')).toHaveLength(1)
  expect(journal()).toHaveLength(1)
})

test('lets one of many simultaneous posts win', async () => {
  const words = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  const answers = await Promise.all(words.map((word) => outbox(dir).post(post(word))))
  expect(answers.filter((answer) => answer === undefined)).toHaveLength(1)
  const won = digestOf(words[answers.indexOf(undefined)])
  expect(answers.filter((answer) => answer === won)).toHaveLength(words.length - 1)
  expect(names('comments')).toHaveLength(1)
})

test('archives beside the comments, once for each different result', async () => {
  const box = outbox(dir)
  await box.archive(post('late'))
  await box.archive(post('late'))
  await box.archive(post('later'))
  expect(names('archive')).toHaveLength(2)
  expect(journal().map(({ kind }) => kind)).toEqual(['archive', 'archive'])
  expect(() => names('comments')).toThrow()
})

test('adds the line that a crash kept out of the journal', async () => {
  await outbox(dir).post(post('ok'))
  rmSync(join(dir, 'journal.jsonl'))
  expect(await outbox(dir).find(post('ok'))).toBe(digestOf('ok'))
  expect(await outbox(dir).find(post('ok'))).toBe(digestOf('ok'))
  expect(journal()).toHaveLength(1)
})

test('does not let a torn line swallow the next one', async () => {
  appendFileSync(join(dir, 'journal.jsonl'), '{"id":"comm')
  await outbox(dir).post(post('ok'))
  const lines = readFileSync(join(dir, 'journal.jsonl'), 'utf8').split('\n')
  expect(lines[0]).toBe('{"id":"comm')
  expect(JSON.parse(lines[1]!)).toMatchObject({ kind: 'comment' })
})

test('fails with a clear fault where it cannot write', async () => {
  writeFileSync(join(dir, 'comments'), 'a file in the way')
  await expect(outbox(dir).post(post('ok'))).rejects.toMatchObject({ code: 'OUTBOX_FAILED' })
  await expect(outbox(dir).find(post('ok'))).rejects.toMatchObject({ code: 'OUTBOX_FAILED' })
})

test('keeps names apart that look the same once they are made safe', () => {
  const name = (issue_ref: string, run_id: string) => fileName({ issue_ref, run_id })
  expect(name('a/b', 'c')).not.toBe(name('a#b', 'c'))
  expect(name('a-b', 'c')).not.toBe(name('a', 'b-c'))
  expect(name('../../etc', 'passwd')).toMatch(/^[A-Za-z0-9-]+$/)
})

test('a comment that was edited later is kept', async () => {
  const box = outbox(dir)
  await box.post(post('ok'))
  writeFileSync(join(dir, 'comments', names('comments')[0]!), 'edited by hand\n')
  expect(await box.find(post('ok'))).toBe('unknown')
  expect(await box.post(post('other'))).toBe('unknown')
})

test('finds its line in a journal that holds many', async () => {
  const box = outbox(dir)
  for (const run_id of ['a', 'b', 'c']) await box.post({ ...post('ok'), run_id })
  expect(await box.find({ ...post('ok'), run_id: 'c' })).toBe(digestOf('ok'))
  expect(journal()).toHaveLength(3)
})

const only = () => join(dir, 'comments', `${fileName(post('ok'))}.md`)

test('replaces exactly the comment that was named', async () => {
  const box = outbox(dir)
  await box.post(post('a'))
  expect(await box.post({ ...post('c'), replaces: digestOf('b') })).toBe(digestOf('a'))
  expect(await box.post({ ...post('b'), replaces: digestOf('a') })).toBeUndefined()
  expect(await box.find(post('x'))).toBe(digestOf('b'))
  expect(readFileSync(only(), 'utf8')).toContain('Status: b\n')
  expect(names('comments')).toHaveLength(1)
  expect(journal()).toHaveLength(2)
})

test('of many that replace one comment, one wins', async () => {
  await outbox(dir).post(post('a'))
  const words = ['b', 'c', 'd', 'e', 'f']
  const answers = await Promise.all(
    words.map((word) => outbox(dir).post({ ...post(word), replaces: digestOf('a') })),
  )
  const winner = words[answers.indexOf(undefined)]!
  expect(answers.filter((answer) => answer === undefined)).toHaveLength(1)
  expect(new Set(answers.filter((answer) => answer !== undefined))).toEqual(new Set([digestOf(winner)]))
  expect(journal()).toHaveLength(2)
})

test('adds the line of a replaced comment that an attempt before us did not live to write', async () => {
  const box = outbox(dir)
  await box.post(post('a'))
  await box.post({ ...post('b'), replaces: digestOf('a') })
  const first = readFileSync(join(dir, 'journal.jsonl'), 'utf8').split('\n')[0]!
  writeFileSync(join(dir, 'journal.jsonl'), `${first}\n`)
  await box.find(post('b'))
  await box.find(post('b'))
  expect(journal().map(({ digest }) => digest)).toEqual([digestOf('a'), digestOf('b')])
})

test('half a line of a killed writer was taken for the whole one', async () => {
  const box = outbox(dir)
  await box.post(post('a'))
  const line = readFileSync(join(dir, 'journal.jsonl'), 'utf8')
  writeFileSync(join(dir, 'journal.jsonl'), line.slice(0, line.length / 2))
  await box.find(post('a'))
  expect(JSON.parse(readFileSync(join(dir, 'journal.jsonl'), 'utf8').trim().split('\n')[1]!)).toMatchObject({
    digest: digestOf('a'),
  })
})

test.each<[string, (path: string) => void]>([
  ['a link to nowhere', (path) => symlinkSync('nowhere', path)],
  ['a FIFO', (path) => execFileSync('mkfifo', [path])],
  ['a directory', (path) => mkdirSync(path)],
])(
  '%s in the place of a comment or an archived result was taken for it; now it is a fault',
  async (_, make) => {
    const box = outbox(dir)
    mkdirSync(join(dir, 'comments'))
    mkdirSync(join(dir, 'archive'))
    make(only())
    make(join(dir, 'archive', `${fileName(post('ok'))}-${digestOf('ok').slice(0, 16)}.json`))
    const fault = { code: 'OUTBOX_FAILED' }
    await expect(box.find(post('ok'))).rejects.toMatchObject(fault)
    await expect(box.post(post('ok'))).rejects.toMatchObject(fault)
    await expect(box.archive(post('ok'))).rejects.toMatchObject(fault)
  },
)

test('a journal that is a FIFO is not waited for', async () => {
  const box = outbox(dir)
  await box.post(post('ok'))
  rmSync(join(dir, 'journal.jsonl'))
  execFileSync('mkfifo', [join(dir, 'journal.jsonl')])
  await expect(box.find(post('ok'))).rejects.toMatchObject({ code: 'OUTBOX_FAILED' })
})
