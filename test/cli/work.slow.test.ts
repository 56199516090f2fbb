import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { activate, ledger } from '../../src/work/ledger.ts'
import { built } from '../built.ts'
import { inside } from './inside.ts'

let base = ''
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'work-cli-'))
  mkdirSync(join(base, 'repo'))
  const order = { issue_ref: 'shop#12', run_id: 'run-7', repo_dir: join(base, 'repo') }
  writeFileSync(join(base, 'order.json'), JSON.stringify(order))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const start = (...args: string[]) => spawn(process.execPath, [built('src/cli/main.ts'), 'work', ...args])

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
  const template = ['--template', join(base, 'comment.md')]
  const { work } = await sluice(...order(), '--dry-run', ...template, '--', ...good)
  expect(work.comment).toContain('It is ok.')
})

test.each([
  [
    'a missing order',
    ['--order', 'nowhere.json', '--', 'true'],
    /cannot read .*nowhere.json": there is no such file/,
  ],
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

const result = '{"issue_ref":"shop#12","run_id":"run-7","status":"ok","commit":"c","tests":"n/a"}'
const failing = ['sh', '-c', 'echo no network >&2; exit 3']

test('--result ends a run that needs a human, and exit code, comment and ledger agree', async () => {
  expect((await sluice(...order(), ...box(), '--', ...failing)).code).toBe(5)
  writeFileSync(join(base, 'fixed.json'), result)
  const { code, work, err } = await sluice(...order(), ...box(), '--result', join(base, 'fixed.json'))
  expect([code, err, work.verdict, work.delivery]).toEqual([0, '', 'advance', 'replaced'])
  expect(await ledger(join(base, 'box', 'ledger')).read('shop#12')).toMatchObject({ state: 'ok' })
  // It exited with 0 although nothing of it counts.
  const late = await sluice(...order(), ...box(), '--', ...failing)
  expect([late.code, late.work.verdict, late.work.delivery]).toEqual([6, 'archive', 'archived'])
})

test('--result without a status for a closed run exited 5 while the comment says ok; now it exits 6', async () => {
  await sluice(...order(), ...box(), '--', ...good)
  writeFileSync(join(base, 'mf.json'), '{"issue_ref":"shop#12","run_id":"run-7"}')
  const { code, work, err } = await sluice(...order(), ...box(), '--result', join(base, 'mf.json'))
  expect([code, work.verdict, work.delivery]).toEqual([6, 'archive', 'archived'])
  expect(work.reasons[0].code).toBe('WORK_RESULT_TWICE')
  expect(err).toMatch(/is only archived: the run "run-7" has a comment with the status ok/)
})

test('--result that does not count exits 5 and says why', async () => {
  writeFileSync(join(base, 'fixed.json'), result.replace('#12', '#13'))
  const { code, err } = await sluice(...order(), ...box(), '--result', join(base, 'fixed.json'))
  expect(code).toBe(5)
  expect(err).toMatch(/does not count and changes nothing: the result is for "shop#13"/)
})

test.each([
  ['is not there', [], /is not there/],
  ['is a directory', [], /is a directory/],
  ['comes with a command', ['--', 'true'], /leave out the command/],
])('--result that %s exits 2', async (what, more, message) => {
  if (what === 'is a directory') mkdirSync(join(base, 'fixed.json'))
  if (more.length > 0) writeFileSync(join(base, 'fixed.json'), result)
  const { code, err, out } = await sluice(...order(), ...box(), '--result', join(base, 'fixed.json'), ...more)
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(message)
})

const adapter = (name: string, text: string) => {
  writeFileSync(join(base, name), text)
  return ['--worker', join(base, name)]
}

test('--worker ./my-adapter.js was no known worker type; now it is loaded', async () => {
  writeFileSync(join(base, 'package.json'), '{"type":"module"}')
  for (const name of ['my-adapter.js', 'my-adapter.cjs']) {
    rmSync(join(base, 'box'), { recursive: true, force: true })
    const it = `{ type: 'go-cli', command: ['sh', '-c', 'printf "$1" > out.json', 'go'], args: () => [${JSON.stringify(result)}], json: 'out.json' }`
    const text = name.endsWith('cjs') ? `module.exports = ${it}` : `export default ${it}`
    const { code, work, err } = await sluice(...order(), ...box(), ...adapter(name, text))
    expect([err, code]).toEqual(['', 0])
    expect(work).toMatchObject({ verdict: 'advance', worker: 'go-cli', source: 'json' })
  }
})

test.each([
  ['is not there', [], /my-adapter.mjs" has no usable worker/],
  ['has no default export', ['export const a = 1'], /no default export/],
  ['throws', ['throw "no"'], /has no usable worker: "no"/],
  ['is not an object', ['export default 7'], /not an object/],
  ['has no type', ['export default {}'], /no type/],
  ['has a wrong field', ['export default { type: "x", args: [] }'], /args must be a function/],
])('--worker with a module that %s exits 2', async (_, [text], message) => {
  if (text !== undefined) writeFileSync(join(base, 'my-adapter.mjs'), text)
  const { code, err, out } = await sluice(...order(), '--worker', join(base, 'my-adapter.mjs'), '--', 'true')
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(message)
})

test.each([
  ['args', 'async () => ["a"]', 'must return a list of strings without NUL, but returned a promise'],
  ['args', 'async () => { throw new Error("late") }', 'but returned a promise'],
  ['args', '() => "abc"', 'but returned "abc"'],
  ['args', '() => [7]', 'but returned one with 7'],
  ['args', '() => ["a\\0"]', 'but returned one with "a\\u0000"'],
  ['args', '() => { throw new Error("no key") }', 'threw: "no key"'],
  ['args', '() => {}', 'but returned undefined'],
  ['env', 'async () => ({ A: "1" })', 'must return an object of strings without NUL, but returned a promise'],
  ['env', '() => ({ A: 7 })', 'but returned one with 7'],
  ['env', '() => ["A=1"]', 'but returned a list'],
  ['env', '() => { throw "no key" }', 'threw: "no key"'],
])('an adapter whose %s is %s exits 2 and says why, before a worker starts', async (field, body, words) => {
  const worker = adapter('my-adapter.mjs', `export default { type: 'x', ${field}: ${body} }`)
  const { code, err, out } = await sluice(...order(), ...box(), ...worker, '--', 'touch', 'started')
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(`${field} of the adapter "x"`)
  expect(err).toContain(words)
  expect(readdirSync(join(base, 'repo'))).toEqual([])
})

test('a link to nowhere in the ledger was an endless loop that ignored SIGTERM; now it exits 1 at once', async () => {
  await activate(ledger(join(base, 'box', 'ledger')), 'shop#12', 'run-7')
  const folder = join(base, 'box', 'ledger', readdirSync(join(base, 'box', 'ledger'))[0]!)
  symlinkSync('nowhere', join(folder, '000000002.json'))
  const { code, err, out } = await sluice(...order(), ...box(), '--', ...good)
  expect([code, out]).toEqual([1, ''])
  expect(err).toMatch(/^sluice: the ledger cannot use .*000000002.json" \(a symbolic link\); look at it/)
  expect(existsSync(join(base, 'repo', 'work_result.txt'))).toBe(false)
})

test('--result without --outbox exited 0 and wrote nothing back without a word; now it warns', async () => {
  writeFileSync(join(base, 'fixed.json'), result)
  const args = [...order(), '--audit', join(base, 'audit'), '--result', join(base, 'fixed.json')]
  const { code, work, err } = await sluice(...args)
  expect([code, work.verdict, work.delivery]).toEqual([0, 'advance', 'none'])
  expect(err).toBe('sluice: nothing was posted: --result without --outbox is only checked\n')
  expect((await sluice(...args, '--dry-run')).err).toBe('')
  expect((await sluice(...args, ...box())).err).toBe('')
})
