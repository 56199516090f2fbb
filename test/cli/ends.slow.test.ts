import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import type { AgentEvent, CompletionData } from '../../src/events/event.ts'
import { outcomeOf, outcomeWords } from '../../src/events/run-outcome.ts'
import { resume } from '../../src/run/resume.ts'
import { run } from '../../src/run/run.ts'
import { built } from '../built.ts'
import { outputOf, type Row, rows } from '../events/ends.ts'
import { agent, codexLines, workspace } from '../run/agent.ts'
import { findRuns } from '../serve/find-runs.ts'
import { inside, standIn } from './inside.ts'

const metaOf = (audit: string) => JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))

/** An agent that writes what leaves the evidence of the row, and ends so. */
function agentOf(row: Row, cwd: string) {
  const { evidence } = row
  const wait = 'setInterval(() => {}, 1000)'
  const leave =
    evidence.stopped !== undefined
      ? `${evidence.signal === null ? "process.on('SIGTERM', () => process.exit(0)); " : ''}${wait}`
      : evidence.signal === null
        ? `process.exitCode = ${evidence.exit_code}`
        : `process.kill(process.pid, '${evidence.signal}'); ${wait}`
  // What it waits with comes first, so that a test that has read the output may stop it.
  const write = `fs.writeSync(1, ${JSON.stringify(outputOf(row))})`
  return agent(cwd, evidence.stopped === undefined ? `${write}; ${leave}` : `${leave}; ${write}`)
}

/** Records the row, stopped as its evidence says; what the live run said of its end, if it could. */
async function record(row: Row, cwd: string, audit: string) {
  const { stopped } = row.evidence
  const abort = new AbortController()
  const live = run({ ...agentOf(row, cwd), cwd, audit, engine: codex, fsDiff: false, signal: abort.signal })
  let last: AgentEvent | undefined
  for await (const event of live) {
    if (last === undefined) {
      if (stopped === 'aborted') abort.abort()
      if (stopped === 'interrupted') live.kill('SIGTERM')
      if (stopped === 'abandoned') break
    }
    last = event
  }
  if (stopped !== 'abandoned') return live.end
  await live.end.catch(() => {})
  return undefined
}

test.each(rows)(
  '$name: $outcome and $code live, in the meta, in /runs, drawn and by every command',
  async (row) => {
    const { evidence, state, outcome, code } = row
    const { cwd, audit } = workspace()
    const known = evidence.exit_code !== null || evidence.signal !== null
    const end = await record(row, cwd, audit)
    if (!known) {
      // Its recorder was lost, and with it the exit.
      const lost = { exit_code: null, complete: false, outcome: null }
      writeFileSync(join(audit, 'meta.1.json'), JSON.stringify({ ...metaOf(audit), ...lost }))
    } else if (end) {
      expect(end.completion).toMatchObject({ state, evidence })
      expect(end.outcome).toBe(outcome)
    }
    if (known) expect(metaOf(audit).outcome).toBe(outcome)
    if (!known) writeFileSync(join(audit, 'events.jsonl'), '')
    await resume(audit)
    expect(metaOf(audit).outcome).toBe(outcome)
    expect(findRuns(cwd).map(({ info }) => [info.state, info.outcome])).toEqual([[state, outcome]])

    const played = await inside(['replay', audit])
    expect([played.code, played.out]).toEqual([code, readFileSync(join(audit, 'events.jsonl'), 'utf8')])
    const { data } = JSON.parse(played.out.trimEnd().split('\n').at(-1)!) as { data: CompletionData }
    expect([data.evidence, outcomeOf(data)]).toEqual([evidence, outcome])
    expect((await inside(['events', audit])).code).toBe(code)
    const drawn = await inside(['chat', audit], { stdout: standIn({ tty: true }) })
    const words = `${outcome}: ${data.problem ?? outcomeWords[outcome]}`.slice(0, 40)
    expect([drawn.code, drawn.out.split('■ ')[1]?.slice(0, words.length)]).toEqual([code, words])

    // What the logs and an exit code can say.
    if (evidence.signal !== null || evidence.stopped !== undefined) return
    const exit = evidence.exit_code === null ? [] : ['--exit', String(evidence.exit_code)]
    const input = { stdin: outputOf(row) }
    for (const command of ['events', 'chat'])
      expect((await inside([command, '--engine', 'codex', ...exit], input)).code, command).toBe(code)
  },
)

// One end of each kind: its code and its word go through one function.
const kinds = new Map(
  rows
    .filter(({ evidence }) => evidence.exit_code !== null && evidence.stopped === undefined)
    .map((row) => [`${row.outcome} ${row.code}`, row]),
)
test.each([...kinds])('sluice run tells %s', async (_kind, row) => {
  const { cwd, audit } = workspace()
  const { command, args } = agentOf(row, cwd)
  const flags = ['--engine', 'codex', '--cwd', cwd, '--audit', audit, '--no-fs-diff']
  const done = await inside(['run', ...flags, '--draw', '--', command, ...args!])
  expect([done.code, done.out]).toEqual([row.code, expect.stringContaining(`■ ${row.outcome}: `)])
})

test('the class of a failure is told by end, meta, /runs, the terminal and why', async () => {
  const { cwd, audit } = workspace()
  const failed = JSON.stringify({ type: 'turn.failed', error: { message: '401 Unauthorized: no key' } })
  const program = agent(
    cwd,
    `say(lines[0]); say(lines[1]); say(${JSON.stringify(failed)}); process.exitCode = 1`,
  )
  const live = run({ ...program, cwd, audit, engine: codex, fsDiff: false })
  live.resume()
  expect(await live.end).toMatchObject({ outcome: 'failed', ok: false, failureClass: 'auth' })
  expect(metaOf(audit)).toMatchObject({ outcome: 'failed', ok: false, failure_class: 'auth' })
  expect(findRuns(cwd)[0]?.info).toMatchObject({ outcome: 'failed', ok: false, failure_class: 'auth' })
  const words = '■ failed: 401 Unauthorized: no key (auth, exit 1)'
  expect((await inside(['replay', audit, '--draw'])).out).toContain(words)
  const why = await inside(['why', audit])
  expect(why.out.split('\n')[0]).toContain('■ failed: auth, the login or the key was refused (')
  expect(JSON.parse((await inside(['why', audit, '--json'])).out)).toMatchObject({ failure_class: 'auth' })
  // Without its journal the meta says it, and a damaged word there says nothing.
  writeFileSync(join(audit, 'events.jsonl'), '')
  expect(findRuns(cwd)[0]?.info).toMatchObject({ outcome: 'failed', failure_class: 'auth' })
  writeFileSync(join(audit, 'meta.1.json'), JSON.stringify({ ...metaOf(audit), failure_class: 'toString' }))
  expect(findRuns(cwd)[0]?.info).toMatchObject({ outcome: 'failed', failure_class: null })
})

test('a journal and a meta of 0.2 are shown in the words of today', async () => {
  const { cwd, audit } = workspace()
  await record(rows.find(({ outcome }) => outcome === 'finished')!, cwd, audit)
  const journal = join(audit, 'events.jsonl')
  const old = readFileSync(journal, 'utf8').replace(',"outcome":"finished","ok":true', '')
  expect(old).not.toContain('"outcome"')
  writeFileSync(journal, old)
  const { ok: _, ...meta } = metaOf(audit)
  writeFileSync(join(audit, 'meta.1.json'), JSON.stringify({ ...meta, outcome: 'needs_input' }))
  const told = () => findRuns(cwd).map(({ info }) => [info.state, info.outcome, info.ok])
  expect(told()).toEqual([['awaiting_user_input', 'finished', true]])
  expect((await inside(['replay', audit, '--draw'])).out).toContain('■ finished: the turn ended well (')
  expect((await inside(['export', audit, '--to', 'md'])).out).toContain('## codex run: finished')
  // 0.2 recorded a named marker only in the meta.
  writeFileSync(
    join(audit, 'meta.1.json'),
    JSON.stringify({ ...meta, outcome: 'needs_input', reading: { done_marker: 'X' } }),
  )
  expect(told()).toEqual([['awaiting_user_input', 'needs_input', false]])
  expect((await inside(['replay', audit, '--draw'])).out).toContain('■ needs_input')
  writeFileSync(join(audit, 'meta.1.json'), JSON.stringify(meta))
  // It recorded a request by its end signal.
  writeFileSync(
    journal,
    old.replaceAll('"end_signal":"turn.completed"', '"end_signal":"execCommandApproval"'),
  )
  expect(told()).toEqual([['awaiting_user_input', 'needs_input', false]])
})

test('a time limit is no request: the run failed', async () => {
  const { cwd, audit } = workspace()
  const program = agent(cwd, 'say(lines[0]); setInterval(() => {}, 1000)')
  const flags = ['--engine', 'codex', '--cwd', cwd, '--audit', audit, '--timeout', '500ms']
  const { code } = await inside(['run', ...flags, '--', program.command, ...program.args!])
  expect([code, metaOf(audit).reason, metaOf(audit).outcome]).toEqual([1, 'timeout', 'failed'])
  expect((await inside(['replay', audit])).code).toBe(1)
})

test('Ctrl-C on sluice run cancels it, and a replay says so, too', async () => {
  const { cwd, audit } = workspace()
  const program = agent(cwd, 'say(lines[0]); setInterval(() => {}, 1000)')
  const flags = ['--engine', 'codex', '--cwd', cwd, '--audit', audit, '--draw']
  const words = [built('src/cli/main.ts'), 'run', ...flags, '--', program.command, ...program.args!]
  const child = spawn(process.execPath, words, {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    // The first piece is the start of the conversation, so the agent is there.
    if (out === '') child.kill('SIGINT')
    out += piece
  })
  const [code] = await once(child, 'close')
  const line = '■ cancelled: the user interrupted the process'
  expect([code, out]).toEqual([1, expect.stringContaining(line)])
  expect(metaOf(audit)).toMatchObject({ reason: 'interrupted', outcome: 'cancelled' })
  const again = await inside(['replay', audit, '--draw'])
  expect([again.code, again.out]).toEqual([1, out])
})

test('a failure of ours is no request: the run failed', async () => {
  const { cwd, audit } = workspace()
  const text = `say(JSON.stringify({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: '{}' } }))`
  const schema = { '~standard': { version: 1, vendor: 'x', validate: async () => ({ value: 1 }) } } as const
  const program = agent(cwd, `${text}; setInterval(() => {}, 1000)`)
  const live = run({ ...program, cwd, audit, engine: codex, fsDiff: false, schema })
  live.on('error', () => {}).resume()
  expect(await live.end).toMatchObject({
    outcome: 'failed',
    ok: false,
    reason: 'recorder_failed',
    notes: [{ code: 'BAD_SCHEMA' }],
  })
  expect(metaOf(audit)).toMatchObject({ reason: 'recorder_failed', outcome: 'failed', complete: false })
})

test('/runs tells the end of a journal whose events have their type only inside', async () => {
  const { cwd, audit } = workspace()
  await record(rows.find(({ outcome }) => outcome === 'succeeded')!, cwd, audit)
  const journal = join(audit, 'events.jsonl')
  const old = readFileSync(journal, 'utf8').replaceAll(/"type":"[^"]+","run_id"/g, '"run_id"')
  writeFileSync(journal, old)
  expect(JSON.parse(old.split('\n')[0]!).type).toBe(undefined)
  const [found] = findRuns(cwd)
  expect(found?.info).toMatchObject({ state: 'completed', outcome: 'succeeded', reason_code: 'DONE_MARKER' })
})

test('a run that is not over has no outcome yet', async () => {
  const { cwd, audit } = workspace()
  const live = run({ ...agent(cwd, 'say(lines[0]); setInterval(() => {}, 1000)'), cwd, audit, engine: codex })
  for await (const _ of live) {
    expect(metaOf(audit).outcome).toBe(null)
    expect(findRuns(cwd).map(({ info }) => [info.state, info.outcome])).toEqual([['running', null]])
    break
  }
})

test('the end of the attempt before is not shown as the end of one that did not tell', async () => {
  const { cwd, audit } = workspace()
  const done = rows.find(({ outcome }) => outcome === 'succeeded')!
  await record(done, cwd, audit)
  const told = () => findRuns(cwd).map(({ info }) => [info.state, info.outcome, info.reason_code])
  expect(told()).toEqual([['completed', 'succeeded', 'DONE_MARKER']])
  // Its recorder was killed before the first event, and again after it.
  writeFileSync(join(audit, 'stdout.2.log'), `${codexLines[0]}\n`)
  const lost = {
    attempt_number: 2,
    complete: false,
    outcome: null,
    exit_code: null,
    ended_at: null,
    pid: null,
  }
  writeFileSync(join(audit, 'meta.2.json'), JSON.stringify({ ...metaOf(audit), ...lost }))
  expect(told()).toEqual([['unknown', 'unknown', null]])
  const journal = join(audit, 'events.jsonl')
  const first = JSON.parse(readFileSync(journal, 'utf8').split('\n')[0]!)
  appendFileSync(journal, `${JSON.stringify({ ...first, attempt_number: 2 })}\n`)
  expect(told()).toEqual([['unknown', 'unknown', null]])
})

describe('a schema', () => {
  const answer = (text: string) =>
    `say(lines[0]); say(JSON.stringify({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: ${JSON.stringify(text)} } }))`
  const end = 'say(lines[3])'

  test.each([
    ['passes', `${answer('{"a":1}')}; ${end}`, 0],
    ['passes, but the process failed', `${answer('{"a":1}')}; ${end}; process.exitCode = 1`, 1],
    ['finds nothing', `${answer('no')}; ${end}`, 3],
    ['finds nothing valid', `${answer('{"b":1}')}; ${end}`, 3],
    ['finds nothing, and the process failed', `${answer('no')}; ${end}; process.exitCode = 1`, 1],
    ['passes, and the output is cut', `${answer('{"a":1}')}; fs.writeSync(1, '{"type":"tu')`, 4],
    [
      'passes, and the output is cut behind the end',
      `${answer('{"a":1}')}; ${end}; fs.writeSync(1, '{"ty')`,
      4,
    ],
    ['finds nothing in a run without an end', answer('no'), 3],
    ['passes in a run without an end', answer('{"a":1}'), 0],
  ])('that %s gives every command the same exit code', async (_what, body, code) => {
    const { cwd, audit } = workspace()
    const schema = join(cwd, 'schema.json')
    writeFileSync(schema, '{"type":"object","required":["a"]}')
    const program = agent(cwd, body)
    const flags = ['--engine', 'codex', '--cwd', cwd, '--audit', audit, '--schema', schema, '--no-fs-diff']
    const live = await inside(['run', ...flags, '--', program.command, ...program.args!])
    expect(live.out).toContain('lifecycle.run.result')
    expect(live.code).toBe(code)
    const outcome = code === 0 ? 'succeeded' : 'failed'
    expect(metaOf(audit)).toMatchObject({ outcome, ok: code === 0 })
    expect(findRuns(cwd).map(({ info }) => info.outcome)).toEqual([outcome])
    const replayed = await inside(['replay', audit, '--schema', schema])
    expect([replayed.code, replayed.out]).toEqual([code, live.out])
    expect((await inside(['events', audit, '--schema', schema])).code).toBe(code)
    expect((await inside(['chat', audit, '--schema', schema])).code).toBe(code)
    expect(replayed.err).toBe('')
    // Without the schema, what it decided is in the events.
    expect(await inside(['replay', audit])).toMatchObject({ code, out: live.out, err: '' })
    expect(await inside(['replay', audit, '--follow'])).toMatchObject({ code, out: live.out })
    const why = await inside(['why', audit])
    expect(why.code).toBe(code)
    expect(why.out.includes('nothing went wrong')).toBe(code === 0)
    const lost = { ...metaOf(audit), complete: false }
    writeFileSync(join(audit, 'meta.1.json'), JSON.stringify(lost))
    expect((await inside(['replay', audit])).err).toContain('give it again: --schema')
  })

  test('that an answer passes does not make a failed run cacheable', async () => {
    const { cwd, audit } = workspace()
    const program = agent(cwd, `${answer('{"a":1}')}; ${end}; process.exitCode = 1`)
    const live = run({ ...program, cwd, audit, engine: codex, schema: { type: 'object' } })
    const results: unknown[] = []
    for await (const event of live) if (event.type === 'lifecycle.run.result') results.push(event.data)
    expect(results).toMatchObject([{ status: 'failed', cacheable: false, warnings: ['COMPLETION_CONFLICT'] }])
  })
})

test('a result of the attempt before does not count for one that has none', async () => {
  const { cwd, audit } = workspace()
  const schema = join(cwd, 'schema.json')
  writeFileSync(schema, '{"type":"object"}')
  const flags = ['--engine', 'codex', '--cwd', cwd, '--audit', audit, '--no-fs-diff']
  const good = agent(
    cwd,
    `say(JSON.stringify({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: '{}' } })); ${'say(lines[3])'}`,
  )
  expect((await inside(['run', ...flags, '--schema', schema, '--', good.command, ...good.args!])).code).toBe(
    0,
  )
  const silent = agent(cwd, 'say(lines[0])')
  expect((await inside(['run', ...flags, '--', silent.command, ...silent.args!])).code).toBe(4)
  expect((await inside(['replay', audit, '--schema', schema])).code).toBe(3)
})

describe('how a run is read', () => {
  const marked = (key: string) =>
    `say(lines[0]); say(JSON.stringify({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: '{"${key}": true}' } })); say(lines[3])`

  test('is remembered by its directory: every door knows its done marker', async () => {
    const { cwd, audit } = workspace()
    const program = agent(cwd, marked('ALL_DONE'))
    const flags = ['--engine', 'codex', '--cwd', cwd, '--audit', audit, '--no-fs-diff']
    const read = ['--done-marker', 'ALL_DONE', '--max-frame', '100000', '--window', '10']
    const live = await inside(['run', ...flags, ...read, '--', program.command, ...program.args!])
    expect(live.out).toContain('"state":"completed"')
    expect(metaOf(audit)).toMatchObject({
      outcome: 'succeeded',
      reading: { done_marker: 'ALL_DONE', max_frame: 100000, window: 10 },
    })
    expect((await inside(['replay', audit])).out).toBe(live.out)
    expect((await inside(['events', audit])).out).toBe(live.out)
    expect((await inside(['chat', audit])).out).toContain('conversation.completed')
    const other = await inside(['replay', audit, '--done-marker', 'OTHER'])
    expect(other.out).toContain('"state":"awaiting_user_input"')
    expect([other.code, other.out]).toEqual([
      5,
      expect.stringContaining('"outcome":"needs_input","ok":false'),
    ])
  })

  test.each([
    ['no object', 'x'],
    ['of no known kind', { done_marker: 5, max_frame: -1, window: 1e300 }],
    ['more than may be held', { done_marker: 'x'.repeat(2000), max_frame: 2 ** 40, window: 2 ** 40 }],
  ])('is as usual if a meta says what is %s', async (_what, reading) => {
    const { cwd, audit } = workspace()
    const end = await record(rows[0]!, cwd, audit)
    expect(end?.outcome).toBe('succeeded')
    const kept = readFileSync(join(audit, 'events.jsonl'), 'utf8')
    writeFileSync(join(audit, 'meta.1.json'), JSON.stringify({ ...metaOf(audit), reading }))
    expect((await inside(['replay', audit])).out).toBe(kept)
  })

  test('is not that of the next attempt, which completes the one before', async () => {
    const { cwd, audit } = workspace()
    const flags = ['--engine', 'codex', '--cwd', cwd, '--audit', audit, '--no-fs-diff']
    const run = async (key: string) => {
      const program = agent(cwd, marked(key))
      return inside(['run', ...flags, '--done-marker', key, '--', program.command, ...program.args!])
    }
    const first = await run('FIRST')
    // As a recorder leaves it that was killed after the first event.
    writeFileSync(
      join(audit, 'meta.1.json'),
      JSON.stringify({ ...metaOf(audit), complete: false, outcome: null }),
    )
    writeFileSync(join(audit, 'events.jsonl'), `${first.out.split('\n')[0]}\n`)
    const second = await run('SECOND')
    expect(readFileSync(join(audit, 'events.jsonl'), 'utf8')).toBe(first.out + second.out)
    expect(metaOf(audit)).toMatchObject({ complete: true, outcome: 'succeeded' })
  })

  test('is told to events and chat by the same options', async () => {
    const stdin = [
      codexLines[0],
      '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"{\\"ALL_DONE\\": true}"}}',
      codexLines[3],
      '',
    ].join('\n')
    const read = ['--done-marker', 'ALL_DONE', '--engine', 'codex']
    expect((await inside(['events', ...read], { stdin })).out).toContain('"state":"completed"')
    expect((await inside(['chat', ...read], { stdin })).out).toContain('conversation.completed')
    const short = await inside(['events', '--max-frame', '40', '--engine', 'codex'], { stdin })
    expect(short.out).toContain('FRAME_TOO_LONG')
  })

  test.each([
    ['a frame of no bytes', ['--max-frame', '0'], 'above 0'],
    ['a window that is no number', ['--window', 'wide'], 'above 0'],
    ['a schema that is not there', ['--schema', 'nowhere.json'], 'no such file'],
  ])('cannot be %s', async (_what, flags, words) => {
    const { audit } = workspace()
    for (const command of [['run', '--audit', audit], ['replay'], ['events'], ['chat']]) {
      const { code, err } = await inside([...command, ...flags, '--', 'true'])
      expect([code, err], command[0]).toEqual([2, expect.stringContaining(words)])
    }
  })
})

test('an audit directory tells itself what other options would say', async () => {
  const options = {
    '--exit': '1',
    '--stderr': 'x.log',
    '--pty': 'x.log',
    '--fs-diff': 'x.json',
    '--dir': '.',
  }
  for (const [flag, value] of Object.entries(options)) {
    const { code, err } = await inside(['events', 'src', flag, value])
    expect([code, err]).toEqual([2, expect.stringContaining(`leave out ${flag}`)])
  }
})

test('events and chat say of a directory without logs what is missing', async () => {
  for (const command of ['events', 'chat']) {
    const { code, err } = await inside([command, 'src'])
    expect([code, err]).toEqual([2, expect.stringContaining('give the audit directory itself')])
  }
})
