import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { activate, conclude, ledger } from '../../src/work/ledger.ts'
import { type Outbox, outbox } from '../../src/work/outbox.ts'
import { type WorkOptions, work } from '../../src/work/work.ts'

let base = ''
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'work-by-hand-'))
  mkdirSync(join(base, 'repo'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const order = () => ({ issue_ref: 'shop#12', run_id: 'run-7', repo_dir: join(base, 'repo') })
const runs = () => ledger(join(base, 'box', 'ledger'))
const start = (options: Partial<WorkOptions>) =>
  work(order(), { outbox: outbox(join(base, 'box')), ledger: runs(), audit: join(base, 'audit'), ...options })
const worker = (script: string, options: Partial<WorkOptions> = {}) =>
  start({ worker: 'script', command: ['sh', '-c', script], ...options })
const good = { issue_ref: 'shop#12', run_id: 'run-7', status: 'ok', commit: 'abc', tests: '12 passed' }
const put = (value: unknown, name = 'fixed.json') => {
  writeFileSync(join(base, name), typeof value === 'string' ? value : JSON.stringify(value))
  return join(base, name)
}
const comments = () =>
  readdirSync(join(base, 'box', 'comments')).map((name) =>
    readFileSync(join(base, 'box', 'comments', name), 'utf8'),
  )
const journal = () =>
  readFileSync(join(base, 'box', 'journal.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
const needsHuman = () => worker('echo no network >&2; exit 3')

describe('after needs-human', () => {
  test('the result of a person was archived under a verdict that said advance; now it ends the run', async () => {
    expect(await needsHuman()).toMatchObject({ verdict: 'needs-human', delivery: 'posted' })
    const done = await start({ result: put(good) })
    expect(done).toMatchObject({
      verdict: 'advance',
      delivery: 'replaced',
      worker: 'by hand',
      source: 'json',
      exit: { code: null, signal: null },
    })
    expect(comments()).toHaveLength(1)
    expect(comments()[0]).toContain('\nStatus: ok\n')
    expect(comments()[0]).not.toContain('needs a human')
    expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-7', state: 'ok' })
    expect(existsSync(join(base, 'box', 'archive'))).toBe(false)
    expect(journal().map(({ kind, digest }) => `${kind} ${digest.slice(65)}`)).toEqual([
      'comment needs-human',
      'comment ok',
    ])
    const audit = JSON.parse(readFileSync(done.audit!, 'utf8'))
    expect(audit).toMatchObject({ worker: 'by hand', verdict: 'advance', outbox: 'replaced', events: null })
    // The audit of the worker is still there.
    expect(JSON.parse(readFileSync(done.audit!.replace('audit.json', 'audit.1.json'), 'utf8'))).toMatchObject(
      {
        exit: { code: 3 },
      },
    )
  })

  test('a result as headers is taken, too', async () => {
    await needsHuman()
    const text =
      'IssueRef: shop#12\nRunId: run-7\nStatus: blocked\nCommit: c\nTests: -\n\nWaits for shop#9.\n'
    const done = await start({ result: put(text, 'fixed.txt') })
    expect(done).toMatchObject({
      verdict: 'advance',
      source: 'text',
      result: { summary: 'Waits for shop#9.' },
    })
    expect(await runs().read('shop#12')).toMatchObject({ state: 'blocked' })
  })

  test('a new start of the same order that works ends the run', async () => {
    await needsHuman()
    const done = await worker(`printf '%s' '${JSON.stringify(good)}' > work_result.json`)
    expect(done).toMatchObject({ verdict: 'advance', delivery: 'replaced' })
    expect(comments()).toEqual([expect.stringContaining('\nStatus: ok\n')])
    expect(await runs().read('shop#12')).toMatchObject({ state: 'ok' })
  })

  test('a new start that fails otherwise tells its own reasons, and the same failure is told once', async () => {
    await needsHuman()
    expect(await needsHuman()).toMatchObject({ verdict: 'needs-human', delivery: 'already posted' })
    expect(journal()).toHaveLength(1)
    expect(await worker('echo other news >&2; exit 4')).toMatchObject({ delivery: 'replaced' })
    expect(comments()).toEqual([expect.stringContaining('exit code 4')])
    // Back to the first: another line, with an id of its own.
    expect(await needsHuman()).toMatchObject({ delivery: 'replaced' })
    expect(comments()).toEqual([expect.stringContaining('> no network')])
    expect(new Set(journal().map(({ id }) => id)).size).toBe(3)
    expect(await runs().read('shop#12')).toMatchObject({ state: 'needs-human' })
  })

  test('a run that has its status is closed: another result of a person is archived, and says so', async () => {
    await needsHuman()
    await start({ result: put(good) })
    expect(await start({ result: put(good) })).toMatchObject({
      verdict: 'advance',
      delivery: 'already posted',
    })
    const late = await start({ result: put({ ...good, status: 'fail' }) })
    expect(late).toMatchObject({ verdict: 'archive', delivery: 'archived' })
    expect(late.reasons.map(({ code }) => code)).toEqual(['WORK_RESULT_TWICE'])
    const archived = readdirSync(join(base, 'box', 'archive'))
    expect(JSON.parse(readFileSync(join(base, 'box', 'archive', archived[0]!), 'utf8'))).toMatchObject({
      verdict: 'archive',
      reasons: [{ code: 'WORK_RESULT_TWICE' }],
    })
    expect(comments()).toEqual([expect.stringContaining('\nStatus: ok\n')])
    expect(await runs().read('shop#12')).toMatchObject({ state: 'ok' })
  })

  test.each<[string, unknown]>([
    ['without a status', { issue_ref: 'shop#12', run_id: 'run-7' }],
    ['of broken JSON', '{"issue_ref":"shop#12",'],
  ])(
    'a result %s for a closed run said needs-human against its comment; now it is archived',
    async (_, value) => {
      await worker(`printf '%s' '${JSON.stringify(good)}' > work_result.json`)
      const before = [comments(), await runs().read('shop#12')]
      const done = await start({ result: put(value) })
      expect(done).toMatchObject({ verdict: 'archive', delivery: 'archived' })
      expect(done.comment).toBeUndefined()
      expect(done.reasons[0]?.code).toBe('WORK_RESULT_TWICE')
      expect(done.reasons.length).toBeGreaterThan(1)
      expect([comments(), await runs().read('shop#12')]).toEqual(before)
      expect(readdirSync(join(base, 'box', 'archive'))).toHaveLength(1)
      expect(JSON.parse(readFileSync(done.audit!, 'utf8'))).toMatchObject({
        verdict: 'archive',
        outbox: 'archived',
      })
    },
  )

  test('of two people at once one wins, and the other is told', async () => {
    await needsHuman()
    const both = await Promise.all([
      start({ result: put(good, 'a.json'), audit: false }),
      start({ result: put({ ...good, status: 'fail' }, 'b.json'), audit: false }),
    ])
    expect(both.map(({ verdict, delivery }) => `${verdict} ${delivery}`).sort()).toEqual([
      'advance replaced',
      'archive archived',
    ])
    const winner = both.find(({ verdict }) => verdict === 'advance')!
    expect(comments()).toEqual([expect.stringContaining(`\nStatus: ${winner.result!.status}\n`)])
    expect(await runs().read('shop#12')).toMatchObject({ state: winner.result!.status })
  })

  test('the audits of two at once are both kept to their end', async () => {
    await needsHuman()
    const box = outbox(join(base, 'box'))
    // The second one begins and ends while the first one is at its comment.
    let other: Promise<unknown> | undefined
    const slow: Outbox = {
      ...box,
      async find(key) {
        other ??= start({ result: put({ ...good, status: 'fail' }, 'b.json') })
        await other
        return box.find(key)
      },
    }
    const done = await start({ result: put(good, 'a.json'), outbox: slow })
    expect(done).toMatchObject({ verdict: 'archive', delivery: 'archived' })
    const folder = join(done.audit!, '..')
    const audits = readdirSync(folder)
      .filter((name) => name.startsWith('work_audit'))
      .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
    expect(audits.map(({ verdict, outbox }) => `${verdict} ${outbox}`).sort()).toEqual([
      'advance replaced',
      'archive archived',
      'needs-human posted',
    ])
  })

  test('the lock of a process that was killed while it replaced a comment is taken over', async () => {
    await needsHuman()
    const name = readdirSync(join(base, 'box', 'comments'))[0]!.replace('.md', '.lock')
    mkdirSync(join(base, 'box', 'locks'))
    const dead = { token: 'dead', pid: 2 ** 22 + 1, host: hostname() }
    writeFileSync(join(base, 'box', 'locks', name), JSON.stringify(dead))
    expect(await start({ result: put(good) })).toMatchObject({ delivery: 'replaced' })
    expect(readdirSync(join(base, 'box', 'locks'))).toEqual([])
  })

  test('a person who was overtaken by another active run is archived', async () => {
    await needsHuman()
    await activate(runs(), 'shop#12', 'run-8')
    expect(await start({ result: put(good) })).toMatchObject({ verdict: 'archive', delivery: 'archived' })
    expect(comments()).toEqual([expect.stringContaining('\nStatus: needs-human\n')])
    expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-8', state: 'active' })
  })

  test('a tracker that cannot edit keeps its comment, and verdict and ledger agree with it', async () => {
    const box = outbox(join(base, 'box'))
    const rigid: Outbox = { ...box, post: ({ replaces: _, ...post }) => box.post(post) }
    await worker('exit 3', { outbox: rigid })
    const done = await start({ result: put(good), outbox: rigid })
    expect(done).toMatchObject({ verdict: 'archive', delivery: 'archived' })
    expect(done.reasons[0]?.message).toContain('status needs-human')
    expect(await runs().read('shop#12')).toMatchObject({ state: 'needs-human' })
  })

  test('a needs-human that is noted late does not take the status away again', async () => {
    await conclude(runs(), 'shop#12', 'run-7', 'ok')
    await conclude(runs(), 'shop#12', 'run-7', 'needs-human')
    expect(await runs().read('shop#12')).toMatchObject({ state: 'ok', version: 1 })
  })
})

describe('a result of a person that does not count', () => {
  test.each<[string, unknown, string]>([
    ['is for another issue', { ...good, issue_ref: 'shop#13' }, 'WORK_ISSUE_MISMATCH'],
    ['is not JSON', '{"issue_ref":"shop#12",', 'WORK_RESULT_BROKEN'],
    ['is empty', '', 'WORK_FIELD_MISSING'],
  ])('because it %s changes nothing', async (_, value, code) => {
    await needsHuman()
    const before = [comments(), journal(), await runs().read('shop#12')]
    const done = await start({ result: put(value) })
    expect(done).toMatchObject({ verdict: 'needs-human', delivery: 'none' })
    expect(done.reasons[0]?.code).toBe(code)
    expect([comments(), journal(), await runs().read('shop#12')]).toEqual(before)
    expect(JSON.parse(readFileSync(done.audit!, 'utf8'))).toMatchObject({ worker: 'by hand', outbox: 'none' })
  })

  test('because it names another run is archived', async () => {
    await needsHuman()
    const done = await start({ result: put({ ...good, run_id: 'run-6' }) })
    expect(done).toMatchObject({ verdict: 'archive', delivery: 'archived' })
    expect(comments()).toEqual([expect.stringContaining('\nStatus: needs-human\n')])
    expect(await runs().read('shop#12')).toMatchObject({ state: 'needs-human' })
  })

  test.each<[string, (path: string) => void]>([
    ['is not there', () => {}],
    ['is a symbolic link', (path) => symlinkSync(put(good, 'real.json'), path)],
    ['is a FIFO', (path) => execFileSync('mkfifo', [path])],
  ])('because its file %s is misuse, told before anything is written', async (message, make) => {
    const path = join(base, 'given.json')
    make(path)
    await expect(start({ result: path })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining(message),
    })
    expect(existsSync(join(base, 'box'))).toBe(false)
    expect(existsSync(join(base, 'audit'))).toBe(false)
  })

  test('or comes with a command, or with neither worker nor result, is misuse', async () => {
    const both = start({ result: put(good), command: ['true'] })
    await expect(both).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await expect(start({})).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
})

describe('the comment that asks for a human', () => {
  test('named neither exit code nor stderr nor audit; now it does', async () => {
    const done = await worker(`printf '\\033[31mError:\\033[0m no network\\n' >&2; exit 3`)
    expect(comments()[0]).toContain('\nEnded: exit code 3\n')
    expect(comments()[0]).toContain(`\nAudit: ${done.audit}\n`)
    expect(comments()[0]).toContain('\nEnd of stderr:\n> Error: no network\n')
    expect(comments()[0]).toContain('--result FILE')
  })

  test('says so when stderr is empty, and shows only the end of a long one', async () => {
    await worker('exit 3')
    expect(comments()[0]).toContain('\nEnd of stderr:\n> (nothing)\n')
    await worker('seq 100000 >&2; exit 3')
    const shown = /End of stderr:\n((?:> .*\n)*)/.exec(comments()[0]!)![1]!.trim().split('\n')
    expect(shown).toHaveLength(20)
    expect(shown.at(-1)).toBe('> 100000')
  })

  test('tells how a worker was ended, or that it never started', async () => {
    expect((await worker('sleep 100', { timeout: 100 })).comment).toContain(
      'Ended: signal SIGTERM (timeout)\n',
    )
    const never = await start({ worker: 'script', command: ['no-such-command'] })
    expect(never.comment).toContain('Ended: none: the worker was not started\n')
  })

  test('shows what repair would have read in a broken file, which still does not count', async () => {
    const broken = `printf '%s' '{"issue_ref":"shop#12","run_id":"run-7",status:"ok","commit":"c","tests":"n/a",}' > work_result.json`
    const done = await worker(broken)
    expect(done).toMatchObject({ verdict: 'needs-human', claim: {}, repaired: { claim: { status: 'ok' } } })
    expect(done.result).toBeUndefined()
    expect(comments()[0]).toContain('\nWhat repair would have read, which does not count:\n> {\n')
    expect(comments()[0]).toContain('\n>   "status": "ok",\n')
    expect(comments()[0]).toContain('quoted a key at 40')
    expect(comments()[0]).toContain('\nStatus: needs-human\n')
  })
})
