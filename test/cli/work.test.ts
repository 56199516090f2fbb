import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { activate, ledger } from '../../src/work/ledger.ts'
import { inside } from './inside.ts'

let base = ''
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'work-cli-'))
  mkdirSync(join(base, 'repo'))
  const order = { issue_ref: 'shop#12', run_id: 'run-7', repo_dir: join(base, 'repo') }
  writeFileSync(join(base, 'order.json'), JSON.stringify(order))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const start = (...args: string[]) => spawn(process.execPath, ['--import', 'tsx', main, 'work', ...args])

async function sluice(...args: string[]) {
  const { out, err, code } = await inside(['work', ...args])
  return { out, err, code, work: out.startsWith('{') ? JSON.parse(out) : undefined }
}

async function ended(child: ReturnType<typeof start>) {
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  return { code, work: JSON.parse(out) }
}
const order = () => ['--order', join(base, 'order.json')]
const box = () => ['--outbox', join(base, 'box')]
const good = [
  'sh',
  '-c',
  `printf 'IssueRef: shop#12\\nRunId: run-7\\nStatus: ok\\nCommit: c\\nTests: -\\n\\n\\302\\233done' > work_result.txt`,
]

test('exits 0 when the result advanced, with the work as JSON on stdout', async () => {
  const { code, work, err, out } = await sluice(...order(), ...box(), '--', ...good)
  expect(err).toBe('')
  expect(code).toBe(0)
  expect(work).toMatchObject({ verdict: 'advance', delivery: 'posted', worker: 'script', source: 'text' })
  expect(out).not.toContain('\u009b')
  expect(work.claim.summary).toBe('\u009bdone')
  expect(readdirSync(join(base, 'box')).sort()).toEqual(['audit', 'comments', 'journal.jsonl', 'ledger'])
})

test('exits 5 when a human is needed', async () => {
  const { code, work } = await sluice(...order(), ...box(), '--worker', 'json-cli', '--', 'true')
  expect(code).toBe(5)
  expect(work).toMatchObject({ verdict: 'needs-human', worker: 'json-cli' })
})

test('exits 6 when the result is only archived: by the ledger, by --active-run', async () => {
  await activate(ledger(join(base, 'box', 'ledger')), 'shop#12', 'run-8')
  expect((await sluice(...order(), ...box(), '--', ...good)).code).toBe(6)
  expect((await sluice(...order(), ...box(), '--active-run', 'run-7', '--', ...good)).code).toBe(0)
  expect((await sluice(...order(), '--active-run', 'run-9', '--dry-run', '--', ...good)).code).toBe(6)
})

test('--activate makes the run the active one', async () => {
  const runs = ledger(join(base, 'box', 'ledger'))
  await activate(runs, 'shop#12', 'run-6')
  expect((await sluice(...order(), ...box(), '--activate', '--', ...good)).code).toBe(0)
  expect(await runs.read('shop#12')).toMatchObject({ run_id: 'run-7', state: 'ok' })
})

test('--dry-run writes nothing but shows the comment', async () => {
  const { code, work } = await sluice(...order(), ...box(), '--dry-run', '--', ...good)
  expect(code).toBe(0)
  expect(work).toMatchObject({ verdict: 'advance', delivery: 'none' })
  expect(work.comment).toContain('Status: ok')
  expect(existsSync(join(base, 'box'))).toBe(false)
})

test('--template is the comment', async () => {
  writeFileSync(join(base, 'comment.md'), 'It is {{status}}.\n')
  const { work } = await sluice(
    ...order(),
    '--dry-run',
    '--template',
    join(base, 'comment.md'),
    '--',
    ...good,
  )
  expect(work.comment).toContain('It is ok.')
})

test.each([
  ['a missing order', ['--order', 'nowhere.json', '--', 'true'], /nowhere.json" cannot be read \(ENOENT\)/],
  ['a worker type that does not exist', ['--worker', 'cobol', '--', 'true'], /cobol.*json-cli/],
  ['no command', [], /needs a command/],
])('exits 2 for %s', async (_, args, message) => {
  const { code, err, out } = await sluice(...(args.includes('--order') ? [] : order()), ...args)
  expect(code).toBe(2)
  expect(err).toMatch(message)
  expect(out).toBe('')
})

test('settles the run when it is interrupted', async () => {
  const child = start(...order(), ...box(), '--', 'sh', '-c', 'echo > started; sleep 100')
  const out = text(child.stdout)
  while (!existsSync(join(base, 'repo', 'started'))) await new Promise((next) => setImmediate(next))
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([5, null])
  expect(JSON.parse(await out)).toMatchObject({ exit: { ended: 'aborted' }, delivery: 'posted' })
})

test('exits 1 when the outbox cannot be written', async () => {
  writeFileSync(join(base, 'box'), 'a file in the way')
  const { code, err } = await sluice(...order(), ...box(), '--audit', join(base, 'audit'), '--', ...good)
  expect(code).toBe(1)
  expect(err).toMatch(/^sluice: the ledger/)
})

test('two processes on one order at once post one comment', async () => {
  const both = await Promise.all([1, 2].map(() => ended(start(...order(), ...box(), '--', ...good))))
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  expect(both.map(({ work }) => work.delivery).sort()).toEqual(['already posted', 'posted'])
  expect(readdirSync(join(base, 'box', 'comments'))).toHaveLength(1)
})
