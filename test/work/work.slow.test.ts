import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { takeLock } from '../../src/disk/lock.ts'
import { findAdapter } from '../../src/work/adapter.ts'
import { activate, type Ledger, ledger } from '../../src/work/ledger.ts'
import { type Outbox, outbox } from '../../src/work/outbox.ts'
import { type WorkOptions, work } from '../../src/work/work.ts'

let base = ''
let repo = ''
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'work-work-'))
  repo = mkdtempSync(join(base, 'repo-'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const order = () => ({ issue_ref: 'shop#12', run_id: 'run-7', repo_dir: repo })
const run = (script: string, options: Partial<WorkOptions> = {}) =>
  work(order(), { worker: 'script', command: ['sh', '-c', script], audit: join(base, 'audit'), ...options })
const good = `printf '{"issue_ref":"shop#12","run_id":"run-7","status":"ok","commit":"c","tests":"n/a"}'`
const auditDir = () => join(base, 'audit', readdirSync(join(base, 'audit'))[0]!)
const codes = (done: { reasons: readonly { code: string }[] }) => done.reasons.map(({ code }) => code)

/** A killed process whose parent has not waited for it yet is still listed, as a zombie. */
function alive(pid: number): boolean {
  const status = `/proc/${pid}/status`
  return existsSync(status) && !/^State:\s+[ZX]/m.test(readFileSync(status, 'utf8'))
}

test('writes no audit through a link that the worker put in its place', async () => {
  // The recorder may make another file while the directory is emptied, so it takes as many turns as it needs.
  const swapped = run(
    `cd ${base}/audit; mkdir ${base}/elsewhere; name=$(ls); until rm -rf $name && ln -sT ${base}/elsewhere $name; do :; done`,
  )
  await expect(swapped).rejects.toMatchObject({ code: 'AUDIT_FAILED' })
  expect(readdirSync(join(base, 'elsewhere'))).not.toContain('work_audit.json')
})

test('settles a worker that cannot be started', async () => {
  const done = await work(order(), { worker: 'script', command: ['no-such-command'], audit: false })
  expect(done.verdict).toBe('needs-human')
  expect(codes(done)).toContain('SPAWN_FAILED')
  expect(done.exit).toEqual({ code: null, signal: null, ended: 'not started' })
})

test('says which worker could not be started, and where it was looked for', async () => {
  const done = await work(order(), { worker: 'script', command: ['./worker.sh'], audit: false })
  const message = `cannot start "./worker.sh": no such file in the working directory "${order().repo_dir}"`
  expect(done.reasons).toContainEqual({ code: 'SPAWN_FAILED', message })
  expect(done.comment).toContain('cannot start "./worker.sh": no such file in the working directory')
})

// These limits leave a busy host the time to start the shell, which must get as far as its trap or its child.
test('ends a worker, and its children, that takes too long', async () => {
  const done = await run(`${good} > work_result.json; sleep 100 & echo $! > pid; wait`, { timeout: 3000 })
  expect(done.exit).toMatchObject({ signal: 'SIGTERM', ended: 'timeout' })
  expect(codes(done)).toEqual(['WORK_INTERRUPTED'])
  const pid = Number(readFileSync(join(repo, 'pid'), 'utf8'))
  expect(alive(pid)).toBe(false)
})

test('ends a worker that ignores SIGTERM', async () => {
  const done = await run(`trap '' TERM; while :; do sleep 0.05; done`, { timeout: 3000 })
  expect(done.exit).toMatchObject({ signal: 'SIGKILL', ended: 'timeout' })
})

test('settles a worker that was aborted', async () => {
  const stop = new AbortController()
  const running = run('echo ready > ready; sleep 100', { signal: stop.signal })
  while (!existsSync(join(repo, 'ready'))) await new Promise((next) => setImmediate(next))
  stop.abort()
  expect((await running).exit.ended).toBe('aborted')
})

test('does not wait for a grandchild that keeps the pipe open', async () => {
  const done = await run(`${good} > work_result.json; sleep 300 & echo $! > pid`)
  expect(done.verdict).toBe('advance')
  const pid = Number(readFileSync(join(repo, 'pid'), 'utf8'))
  expect(alive(pid)).toBe(true)
  process.kill(pid)
})

test('keeps only the ends of a flood of output', async () => {
  const done = await run(
    `echo RunId: run-7; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo Status: fail`,
  )
  expect(done.claim).toMatchObject({ run_id: 'run-7', status: 'fail' })
  const audit = JSON.parse(readFileSync(done.audit!, 'utf8'))
  expect(audit.bytes.stdout).toBe(20_000_027)
})

test('keeps the audits of earlier attempts', async () => {
  await run('exit 1')
  await run('exit 2')
  await run('exit 3')
  const exits = ['work_audit.1.json', 'work_audit.2.json', 'work_audit.json'].map(
    (name) => JSON.parse(readFileSync(join(auditDir(), name), 'utf8')).exit.code,
  )
  expect(exits).toEqual([1, 2, 3])
})

test('gives an agent its order as a prompt', async () => {
  const command = ['sh', '-c', 'printf %s "$1" > prompt', 'codex']
  await work(order(), { worker: 'codex', command, audit: false })
  expect(readFileSync(join(repo, 'prompt'), 'utf8')).toContain('"run_id":"run-7"')
})

test('gives every worker the order in its environment, and a file only to those that want it', async () => {
  const show = [
    'sh',
    '-c',
    'echo "$WORK_ISSUE_REF $WORK_RUN_ID $WORK_CONSTRAINTS [$WORK_ORDER]" > env; cat "$WORK_ORDER" > order',
  ]
  await work({ ...order(), constraints: { a: 1 } }, { worker: 'text-cli', command: show, audit: false })
  expect(readFileSync(join(repo, 'env'), 'utf8')).toBe('shop#12 run-7 {"a":1} []\n')
  await work({ ...order(), constraints: { a: 1 } }, { worker: 'json-cli', command: show, audit: false })
  expect(JSON.parse(readFileSync(join(repo, 'order'), 'utf8'))).toEqual({ ...order(), constraints: { a: 1 } })
})

test.each<[string, WorkOptions['worker']]>([
  ['a worker', 'script'],
  ['a person', undefined],
])(
  'a ledger that failed when the work of %s was settled left no audit; now it says so',
  async (_, worker) => {
    let reads = worker === undefined ? 1 : 0
    const broken: Ledger = {
      ...runs(),
      // The first time is before the worker starts.
      read: async () => (reads++ === 0 ? undefined : Promise.reject(new Error('disk is gone'))),
    }
    writeFileSync(join(base, 'by-hand.json'), claim)
    const box = outbox(join(base, 'box'))
    const running =
      worker === undefined
        ? work(order(), {
            result: join(base, 'by-hand.json'),
            outbox: box,
            ledger: broken,
            audit: join(base, 'audit'),
          })
        : run(`${good} > work_result.json`, { outbox: box, ledger: broken })
    await expect(running).rejects.toMatchObject({ code: 'LEDGER_FAILED' })
    expect(JSON.parse(readFileSync(join(auditDir(), 'work_audit.json'), 'utf8'))).toMatchObject({
      verdict: 'needs-human',
      active_run_id: null,
      reasons: [{ code: 'LEDGER_FAILED', message: 'the ledger failed: "disk is gone"' }],
      outbox: 'none',
      failed: { code: 'LEDGER_FAILED' },
    })
    expect(existsSync(join(base, 'box'))).toBe(false)
  },
)

test('a ledger that failed after the comment was posted was told as an outbox that failed', async () => {
  const box = outbox(join(base, 'box'))
  const broken = { ...runs(), swap: () => Promise.reject(new Error('disk is full')) }
  const running = run(`${good} > work_result.json`, { outbox: box, ledger: broken })
  await expect(running).rejects.toMatchObject({ code: 'LEDGER_FAILED' })
  expect(readdirSync(join(base, 'box', 'comments'))).toHaveLength(1)
  expect(JSON.parse(readFileSync(join(auditDir(), 'work_audit.json'), 'utf8'))).toMatchObject({
    verdict: 'advance',
    outbox: 'posted',
    failed: { code: 'LEDGER_FAILED', message: 'the ledger failed: "disk is full"' },
  })
  // The next attempt is archived: the audit must say that, and that the status is still not noted.
  const late = run(`${other} > work_result.json`, { outbox: box, ledger: broken })
  await expect(late).rejects.toMatchObject({ code: 'LEDGER_FAILED' })
  expect(JSON.parse(readFileSync(join(auditDir(), 'work_audit.json'), 'utf8'))).toMatchObject({
    verdict: 'archive',
    reasons: [{ code: 'WORK_RESULT_TWICE' }],
    outbox: 'archived',
    failed: { code: 'LEDGER_FAILED' },
  })
})

test.each<[string, () => Promise<unknown>, string]>([
  ['an unknown worker', () => run('true', { worker: 'cobol' }), 'BAD_OPTION'],
  ['no command', () => work(order(), { worker: 'script' }), 'BAD_OPTION'],
  ['a template with a wrong name', () => run('true', { template: '{{x}}' }), 'BAD_OPTION'],
  ['a result file outside', () => run('true', { worker: { type: 'x', json: '../r.json' } }), 'BAD_OPTION'],
  [
    'a repo_dir that is not there',
    () => work({ ...order(), repo_dir: join(base, 'no') }, { worker: 'script', command: ['true'] }),
    'BAD_ORDER',
  ],
])('refuses %s before anything is started', async (_, start, code) => {
  await expect(start()).rejects.toMatchObject({ code })
  expect(readdirSync(repo)).toEqual([])
})

const says = (text: string) =>
  `echo '${JSON.stringify({ type: 'item.completed', item: { id: 'item_1', type: 'agent_message', text } })}'`
const agent = (...lines: string[]) =>
  [
    `echo '{"type":"thread.started","thread_id":"t-1"}'`,
    ...lines,
    `echo '{"type":"turn.completed","usage":{}}'`,
  ].join('; ')
const claim = '{"issue_ref":"shop#12","run_id":"run-7","status":"ok","commit":"c","tests":"n/a"}'

test('hears what an agent says, but does not take its word for it', async () => {
  const done = await run(agent(says(`Done: <json>${claim}</json>`)), { worker: 'codex' })
  expect(done).toMatchObject({ verdict: 'needs-human', source: 'conversation', claim: { status: 'ok' } })
  expect(codes(done)).toEqual(['WORK_UNTRUSTED'])
})

test('takes the word of an agent whose adapter was configured to trust it', async () => {
  const trusted = { ...findAdapter('codex'), trustConversation: true }
  const done = await run(agent(says(`Done: <json>${claim}</json>`)), { worker: trusted })
  expect(done).toMatchObject({ verdict: 'advance', source: 'conversation', result: { status: 'ok' } })
  const forged = agent(`echo '<json>${claim}</json>' >&2`, `echo 'RunId: run-7'`)
  expect((await run(forged, { worker: trusted })).verdict).toBe('needs-human')
})

test('keeps the events of the run beside the audit', async () => {
  const done = await run(agent(says('Hello.')), { worker: 'codex' })
  const audit = JSON.parse(readFileSync(done.audit!, 'utf8'))
  const events = readFileSync(join(done.audit!, '..', audit.events), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(events.every((event) => event.run_id === 'run-7' && event.protocol_version === 'rasp/1.0')).toBe(
    true,
  )
  expect(events.map(({ event }) => event.type)).toContain('agent.message.final')
})

test('a second, other result of the same run is archived, and says so', async () => {
  const box = outbox(join(base, 'box'))
  const first = await run(`${good} > work_result.json`, { outbox: box })
  expect(first.delivery).toBe('posted')
  rmSync(join(repo, 'work_result.json'))
  const other = await run('true', { outbox: box })
  expect(other).toMatchObject({ verdict: 'archive', delivery: 'archived' })
  expect(other.comment).toBeUndefined()
  expect(other.reasons[0]).toEqual({
    code: 'WORK_RESULT_TWICE',
    message: 'the run "run-7" has a comment with the status ok, so this other result is archived',
  })
  expect(readdirSync(join(base, 'box', 'comments'))).toHaveLength(1)
  expect(readdirSync(join(base, 'box', 'archive'))).toHaveLength(1)
  expect(JSON.parse(readFileSync(other.audit!, 'utf8'))).toMatchObject({
    outbox: 'archived',
    verdict: 'archive',
  })
})

const runs = () => ledger(join(base, 'ledger'))
const other = good.replace('"ok"', '"ok","summary":"again"')

test.each<[string, Partial<WorkOptions>]>([
  ['--active-run', { activeRunId: 'run-7' }],
  ['no active run', {}],
])('a foreign ledger file with %s is told before the worker starts', async (_, options) => {
  await activate(runs(), 'shop#12', 'run-7')
  const path = join(base, 'ledger', readdirSync(join(base, 'ledger'))[0]!, '000000001.json')
  rmSync(path)
  symlinkSync('nowhere', path)
  const all = { outbox: outbox(join(base, 'box')), ledger: runs(), ...options }
  const fault = { code: 'LEDGER_FAILED', message: expect.stringContaining('000000001.json') }
  await expect(run(`touch started; ${good} > work_result.json`, all)).rejects.toMatchObject(fault)
  expect(readdirSync(repo)).toEqual([])
  // The same for what a person hands in: no comment without its status in the ledger.
  writeFileSync(join(base, 'by-hand.json'), claim)
  const byHand = work(order(), { result: join(base, 'by-hand.json'), audit: join(base, 'audit'), ...all })
  await expect(byHand).rejects.toMatchObject(fault)
  expect(existsSync(join(base, 'box'))).toBe(false)
})

test('the ledger has the status of a run that was never made the active one', async () => {
  const options = { outbox: outbox(join(base, 'box')), ledger: runs() }
  expect(await run(`${good} > work_result.json`, options)).toMatchObject({ delivery: 'posted' })
  expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-7', state: 'ok', version: 1 })
  // Nobody chose a run, so the next one counts as well.
  const next = `${good.replace('run-7', 'run-8').replace('"ok"', '"blocked"')} > work_result.json`
  const second = await work(
    { ...order(), run_id: 'run-8' },
    { worker: 'script', command: ['sh', '-c', next], audit: false, ...options },
  )
  expect(second).toMatchObject({ verdict: 'advance', active_run_id: 'run-8', delivery: 'posted' })
  expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-8', state: 'blocked' })
})

test.each(['activated', 'not activated'])(
  'a ledger that fails after the post gets the posted status with the next attempt, whatever that one says (%s)',
  async (how) => {
    if (how === 'activated') await activate(runs(), 'shop#12', 'run-7')
    const before = await runs().read('shop#12')
    const box = outbox(join(base, 'box'))
    const broken = { ...runs(), swap: () => Promise.reject(new Error('disk is full')) }
    const failed = run(`${good} > work_result.json`, { outbox: box, ledger: broken })
    await expect(failed).rejects.toMatchObject({ code: 'LEDGER_FAILED' })
    expect(await runs().read('shop#12')).toEqual(before)
    const again = await run('exit 1', { outbox: box, ledger: runs() })
    expect(again).toMatchObject({ verdict: 'archive', delivery: 'archived' })
    expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-7', state: 'ok' })
    const third = await run(`${other} > work_result.json`, { outbox: box, ledger: runs() })
    expect(third).toMatchObject({ verdict: 'archive', delivery: 'archived' })
    expect(await runs().read('shop#12')).toMatchObject({ state: 'ok', version: before ? 2 : 1 })
    expect(readdirSync(join(base, 'box', 'comments'))).toHaveLength(1)
  },
)

test('a comment that does not tell its status leaves the ledger as it is', async () => {
  await activate(runs(), 'shop#12', 'run-7')
  const box: Outbox = { ...outbox(join(base, 'box')), find: async () => 'unknown' }
  const done = await run(`${good} > work_result.json`, { outbox: box, ledger: runs() })
  expect(done).toMatchObject({ verdict: 'archive', delivery: 'archived' })
  expect(await runs().read('shop#12')).toMatchObject({ state: 'active' })
})

test('the comment of an attempt before digests told the status is still its own', async () => {
  await activate(runs(), 'shop#12', 'run-7')
  const box = outbox(join(base, 'box'))
  const bare: Outbox = { ...box, find: async (key) => (await box.find(key))?.slice(0, 64) }
  await run(`${good} > work_result.json`, { outbox: box })
  const done = await run(`${good} > work_result.json`, { outbox: bare, ledger: runs() })
  expect(done.delivery).toBe('already posted')
  expect(await runs().read('shop#12')).toMatchObject({ state: 'ok' })
})

test('records beside a run of the same name that is still going on', async () => {
  const first = await run(`${good} > work_result.json`)
  const lock = takeLock(join(dirname(first.audit!), 'journal.lock'))
  rmSync(join(repo, 'work_result.json'))
  const second = await run(`${good} > work_result.json`)
  lock.release()
  expect(second.verdict).toBe('advance')
  expect(dirname(second.audit!)).toBe(`${dirname(first.audit!)}-2`)
})

test('a worker with an engine that is none is refused', async () => {
  const worker = { ...findAdapter('script'), engine: 'cudex' }
  await expect(run('true', { worker })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining('cudex'),
  })
})

test('an audit that cannot be made ends the work before it is started', async () => {
  writeFileSync(join(base, 'audit'), 'a file in the way')
  await expect(run('touch started')).rejects.toMatchObject({ code: 'AUDIT_FAILED' })
  expect(readdirSync(repo)).toEqual([])
})

test('runs nothing for a signal that is aborted already, and asks a human', async () => {
  const done = await run('touch started', { signal: AbortSignal.abort() })
  expect(done).toMatchObject({ verdict: 'needs-human', exit: { code: null, ended: 'aborted' } })
  expect(readdirSync(repo)).toEqual([])
})

test('leaves no record where none is wanted', async () => {
  const done = await run(`${good} > work_result.json; echo said`, { audit: false })
  expect(done.verdict).toBe('advance')
  expect(done.audit).toBe(undefined)
  expect(readdirSync(base).filter((name) => name !== basename(repo))).toEqual([])
})
