import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { adapters, type WorkerAdapter } from '../../src/work/adapter.ts'
import type { WorkAudit } from '../../src/work/audit.ts'
import { activate, ledger } from '../../src/work/ledger.ts'
import { brief } from '../../src/work/order.ts'
import { outbox } from '../../src/work/outbox.ts'
import { type WorkOptions, work } from '../../src/work/work.ts'
import { built } from '../built.ts'

let base = ''
let repo = ''
let box = ''
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'work-verdicts-'))
  repo = mkdtempSync(join(base, 'repo-'))
  box = join(base, 'outbox')
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const order = (run_id = 'run-7') => ({
  issue_ref: 'shop#12',
  run_id,
  repo_dir: repo,
  constraints: ['no new dependency'],
})
const runs = () => ledger(join(box, 'ledger'))
const start = (options: Partial<WorkOptions> & Pick<WorkOptions, 'worker'>, run_id?: string) =>
  work(order(run_id), { outbox: outbox(box), ledger: runs(), audit: join(base, 'audit'), ...options })
const files = (folder: string) => {
  try {
    return readdirSync(join(box, folder))
  } catch {
    return []
  }
}
const comments = () => files('comments').map((name) => readFileSync(join(box, 'comments', name), 'utf8'))
const audit = (): WorkAudit => {
  const [run] = readdirSync(join(base, 'audit'))
  return JSON.parse(readFileSync(join(base, 'audit', run!, 'work_audit.json'), 'utf8'))
}

/** A worker that reads its order from the file it is given and answers in JSON. */
const jsonWorker = [
  process.execPath,
  '-e',
  `const fs = require('fs')
  const order = JSON.parse(fs.readFileSync(process.env.WORK_ORDER, 'utf8'))
  fs.writeFileSync('work_result.json', JSON.stringify({
    issue_ref: order.issue_ref, run_id: order.run_id, status: 'ok',
    changes: { commit: 'abc123' }, tests: '12 passed', summary: 'kept to: ' + order.constraints,
  }))`,
]
/** A worker that only knows its environment and answers in text. */
const textWorker = [
  'sh',
  '-c',
  `printf 'IssueRef: %s\\nRunId: %s\\nStatus: ok\\nPR: https://example.org/pull/3\\nTests: n/a\\n\\nFixed it.\\n' \
    "$WORK_ISSUE_REF" "$WORK_RUN_ID" > work_result.txt`,
]
const shell = (script: string) => ['sh', '-c', script]

describe('from a worker to the outbox', () => {
  test('a JSON worker and a text worker both close the loop', async () => {
    await activate(runs(), 'shop#12', 'run-7')
    const json = await start({ worker: 'json-cli', command: jsonWorker })
    expect(json).toMatchObject({ verdict: 'advance', delivery: 'posted', source: 'json' })
    expect(json.result?.summary).toBe('kept to: no new dependency')
    expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-7', state: 'ok' })

    await activate(runs(), 'shop#12', 'run-8')
    const plain = await start({ worker: 'text-cli', command: textWorker }, 'run-8')
    expect(plain).toMatchObject({ verdict: 'advance', delivery: 'posted', source: 'text' })
    expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-8', state: 'ok' })
    expect(comments()).toHaveLength(2)
    expect(JSON.parse(readFileSync(plain.audit!, 'utf8'))).toMatchObject({
      worker: 'text-cli',
      encoding: 'text',
    })
  })

  test('a missing field never reaches review or done, and needs a human', async () => {
    await activate(runs(), 'shop#12', 'run-7')
    const without = shell(`${textWorker[2]}; sed -i '/^Tests:/d' work_result.txt`)
    const done = await start({ worker: 'text-cli', command: without })
    expect(done.verdict).toBe('needs-human')
    expect(done.result).toBeUndefined()
    expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-7', state: 'needs-human' })
    expect(comments()).toEqual([expect.stringContaining('Status: needs-human')])
  })

  test('the late result of an old run does not overwrite the active run', async () => {
    await activate(runs(), 'shop#12', 'run-7')
    // While the worker of run-7 is at work, the lead makes run-8 the active one.
    const lead = `import { activate, ledger } from ${JSON.stringify(built('src/work.ts'))}
      await activate(ledger(${JSON.stringify(join(box, 'ledger'))}), 'shop#12', 'run-8')`
    const overtaken = [
      process.execPath,
      '-e',
      `require('child_process').execFileSync(process.execPath,
        ['--input-type=module', '-e', ${JSON.stringify(lead)}])
      ${jsonWorker[2]}`,
    ]
    const late = await start({ worker: 'json-cli', command: overtaken })
    expect(late).toMatchObject({ verdict: 'archive', delivery: 'archived', active_run_id: 'run-8' })
    expect(comments()).toEqual([])
    expect(files('archive')).toHaveLength(1)
    expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-8', state: 'active' })
  })

  test('the worker of the active run that names another run is archived, and a human is asked', async () => {
    await activate(runs(), 'shop#12', 'run-7')
    const command = [
      process.execPath,
      '-e',
      `require('fs').writeFileSync('work_result.json', JSON.stringify({ issue_ref: 'shop#12', run_id: 'run-6',
        status: 'ok', changes: { commit: 'abc123' }, tests: '12 passed' }))`,
    ]
    const done = await start({ worker: 'json-cli', command })
    expect(done).toMatchObject({ verdict: 'archive', delivery: 'archived', run_id: 'run-7' })
    expect(files('archive')).toHaveLength(1)
    expect(comments()).toHaveLength(1)
    expect(comments()[0]).toContain('RunId: run-7\nStatus: needs-human')
    expect(comments()[0]).toContain('WORK_RUN_MISMATCH: the result is of run')
    expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-7', state: 'needs-human' })
    // Again: the same comment, once; then the right result replaces it.
    await start({ worker: 'json-cli', command })
    expect(comments()).toHaveLength(1)
    expect(await start({ worker: 'json-cli', command: jsonWorker })).toMatchObject({ delivery: 'replaced' })
    expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-7', state: 'ok' })
  })

  test('a relative repo_dir is told as an absolute path: in the order, in the environment and to an agent', async () => {
    const repo_dir = relative(process.cwd(), repo)
    const told = `console.log([JSON.parse(require('fs').readFileSync(process.env.WORK_ORDER, 'utf8')).repo_dir,
      process.env.WORK_REPO_DIR, ...process.argv.slice(1)].join('\\n'))`
    let seen: string[] = []
    const worker: WorkerAdapter = {
      type: 'teller',
      orderFile: true,
      args: (given) => {
        seen = [given.repo_dir, brief(given)]
        return []
      },
    }
    const asked = { ...order(), repo_dir }
    await work(asked, { worker, command: [process.execPath, '-e', told], audit: join(base, 'audit') })
    expect(seen[0]).toBe(realpathSync(repo))
    expect(seen[1]).toContain(`in the directory ${realpathSync(repo)}:`)
    expect(brief(asked)).toContain(`in the directory ${repo}:`)
    const [run] = readdirSync(join(base, 'audit'))
    const out = readFileSync(join(base, 'audit', run!, 'stdout.1.log'), 'utf8')
      .trim()
      .split('\n')
    expect(out).toEqual([realpathSync(repo), realpathSync(repo)])
  })

  test('the audit tells how each result was parsed and judged', async () => {
    await start({ worker: 'script', command: shell('echo hello; echo oops >&2; exit 3') })
    expect(audit()).toMatchObject({
      version: 'work-audit/1',
      parser: 'work-headers/1',
      issue_ref: 'shop#12',
      run_id: 'run-7',
      active_run_id: 'run-7',
      worker: 'script',
      exit: { code: 3, signal: null },
      encoding: 'none',
      path: [
        { source: 'json', outcome: 'absent' },
        { source: 'text', outcome: 'absent' },
        { source: 'conversation', outcome: 'absent' },
        { source: 'output', outcome: 'absent' },
      ],
      verdict: 'needs-human',
      reasons: [{ code: 'WORK_NO_RESULT' }],
      bytes: { stdout: 6, stderr: 5, json: 0, text: 0 },
      fields: { issue_ref: false, run_id: false, status: false, changes: false, tests: false },
      outbox: 'posted',
    })
    const { started_at, ended_at, duration_ms } = audit()
    expect(new Date(ended_at).getTime() - new Date(started_at).getTime()).toBe(duration_ms)
  })
})

describe('every worker', () => {
  test('ends in the same shape', async () => {
    const a = await start({ worker: 'json-cli', command: jsonWorker })
    const b = await start({ worker: 'text-cli', command: textWorker }, 'run-8')
    const c = await start({ worker: 'script', command: shell('true') }, 'run-9')
    const keys = (done: object) => Object.keys(done).filter((key) => key !== 'result' && key !== 'source')
    expect(keys(b)).toEqual(keys(a))
    expect(keys(c)).toEqual(keys(a))
    expect(Object.keys(b.result!).sort()).toEqual(Object.keys(a.result!).sort())
  })

  test('JSON counts when both are there, and the source is recorded', async () => {
    const both = [
      jsonWorker[0]!,
      '-e',
      `${jsonWorker[2]}; fs.writeFileSync('work_result.txt', 'Status: fail\\n')`,
    ]
    const done = await start({ worker: 'script', command: both })
    expect(done).toMatchObject({ verdict: 'advance', source: 'json', result: { status: 'ok' } })
    expect(audit()).toMatchObject({ encoding: 'json', path: [{}, { source: 'text', outcome: 'not read' }] })
  })

  test('the result goes through the comment template before it is written back', async () => {
    const template = 'Run {{run_id}} on {{issue_ref}}: {{status}}, {{commit}}, {{tests}}'
    const done = await start({ worker: 'json-cli', command: jsonWorker, template })
    expect(done.comment).toBe('Run run-7 on shop#12: ok, abc123, 12 passed\n')
    expect(comments()[0]).toMatch(/-->\nRun run-7 on shop#12: ok, abc123, 12 passed\n$/)
  })
})

describe('adapters', () => {
  test('a new worker is one small object', async () => {
    const goCli: WorkerAdapter = {
      type: 'go-cli',
      args: (given) => ['-run', given.run_id, '-issue', given.issue_ref],
      text: 'out/result.txt',
    }
    const command = shell(
      `mkdir -p out; printf 'IssueRef: %s\\nRunId: %s\\nStatus: blocked\\nCommit: c\\nTests: n/a\\n' "$4" "$2" > out/result.txt`,
    )
    const done = await start({ worker: 'go-cli', adapters: [goCli], command: [...command, 'go-cli'] })
    expect(done.reasons).toEqual([])
    expect(done).toMatchObject({ verdict: 'advance', worker: 'go-cli', result: { status: 'blocked' } })
  })

  test('the included ones are seven, and none trusts the conversation', () => {
    const types = ['json-cli', 'text-cli', 'script', 'codex', 'opencode', 'gemini', 'claude']
    expect(adapters.map(({ type }) => type)).toEqual(types)
    expect(adapters.some(({ trustConversation }) => trustConversation)).toBe(false)
  })
})

describe('once', () => {
  const main = (run_id: string, status: string) => `
    import { ledger, outbox, work } from ${JSON.stringify(built('src/work.ts'))}
    import { mkdtempSync } from 'node:fs'
    const repo_dir = mkdtempSync(${JSON.stringify(join(base, 'r-'))})
    const command = ${JSON.stringify(jsonWorker).replace("status: 'ok'", `status: '${status}'`)}
    const box = ${JSON.stringify(box)}
    const done = await work(
      { issue_ref: 'shop#12', run_id: ${JSON.stringify(run_id)}, repo_dir, constraints: ['no new dependency'] },
      { worker: 'json-cli', command, outbox: outbox(box), ledger: ledger(box + '/ledger'), audit: repo_dir + '-audit' },
    )
    console.log(done.verdict, done.delivery, done.result.status)`
  const run = async (code: string) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code])
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    expect(err).toBe('')
    return out.trim()
  }

  test('two processes finishing at once leave one winner', async () => {
    await activate(runs(), 'shop#12', 'run-7')
    const ends = await Promise.all(['ok', 'fail', 'blocked'].map((status) => run(main('run-7', status))))
    const winner = ends.filter((end) => end.startsWith('advance posted'))
    expect(winner, ends.join('; ')).toHaveLength(1)
    expect(ends.filter((end) => end.startsWith('archive archived'))).toHaveLength(2)
    const status = winner[0]!.split(' ')[2]!
    expect(comments()).toHaveLength(1)
    expect(comments()[0]).toContain(`Status: ${status}\n`)
    expect(files('archive')).toHaveLength(2)
    expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-7', state: status })
  })

  test('a retry of the same run posts nothing new', async () => {
    expect(await start({ worker: 'json-cli', command: jsonWorker })).toMatchObject({ delivery: 'posted' })
    const again = await start({ worker: 'json-cli', command: jsonWorker })
    expect(again).toMatchObject({ verdict: 'advance', delivery: 'already posted' })
    expect(comments()).toHaveLength(1)
    expect(readFileSync(join(box, 'journal.jsonl'), 'utf8').trim().split('\n')).toHaveLength(1)
  })

  test.each(['before the comment', 'after the comment', 'after the journal'])(
    'a crash %s posts once',
    async (moment) => {
      await activate(runs(), 'shop#12', 'run-7')
      // The process dies like a killed one, at exactly this step.
      const dying = {
        'before the comment': `box.post = () => process.kill(process.pid, 'SIGKILL')`,
        'after the comment': `const { open } = fsp; fsp.open = (path, ...rest) =>
          String(path).endsWith('journal.jsonl') && rest[0] === 'a+' ? process.kill(process.pid, 'SIGKILL') : open(path, ...rest)
          syncBuiltinESMExports()`,
        'after the journal': `const { post } = box; box.post = async (p) => { await post(p); process.kill(process.pid, 'SIGKILL') }`,
      }[moment]!
      const code = main('run-7', 'ok')
        .replace('outbox: outbox(box)', 'outbox: dir')
        .replace('const done =', `const dir = outbox(box)\n{ const box = dir; ${dying} }\nconst done =`)
      const crash = `import fs from 'node:fs'\nimport fsp from 'node:fs/promises'\nimport { syncBuiltinESMExports } from 'node:module'\n${code}`
      expect(await run(crash)).toBe('')
      expect(comments()).toHaveLength(moment === 'before the comment' ? 0 : 1)
      expect(await runs().read('shop#12')).toMatchObject({ state: 'active' })
      const delivery = moment === 'before the comment' ? 'posted' : 'already posted'
      const again = await start({ worker: 'json-cli', command: jsonWorker })
      expect(again).toMatchObject({ verdict: 'advance', delivery })
      expect(comments()).toHaveLength(1)
      expect(readFileSync(join(box, 'journal.jsonl'), 'utf8').trim().split('\n')).toHaveLength(1)
      expect(await runs().read('shop#12')).toMatchObject({ run_id: 'run-7', state: 'ok' })
    },
  )

  test('a result file from before the run does not count', async () => {
    writeFileSync(
      join(repo, 'work_result.json'),
      JSON.stringify({ issue_ref: 'shop#12', run_id: 'run-7', status: 'ok', commit: 'a', tests: 'n/a' }),
    )
    const done = await start({ worker: 'json-cli', command: ['true'] })
    expect(done.verdict).toBe('needs-human')
    expect(done.notes.map(({ code }) => code)).toEqual(['WORK_FILE_STALE'])
  })
})
