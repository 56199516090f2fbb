import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Fault } from '../../src/base/fault.ts'
import type { AgentEvent } from '../../src/events/event.ts'
import { replay } from '../../src/run/replay.ts'
import { resume } from '../../src/run/resume.ts'
import { reply, run } from '../../src/run/run.ts'
import type { RunOptions } from '../../src/run/run-options.ts'
import { inside } from '../cli/inside.ts'
import { workspace } from './agent.ts'

const recorded = new URL('replies', import.meta.url).pathname

/** A program of that name: it prints what was recorded, turn after turn, and notes how it was called. */
function standIn(name: string, says = name, more = '') {
  const { cwd, audit } = workspace()
  const bin = join(cwd, 'bin')
  mkdirSync(bin)
  const notes = join(cwd, 'calls.jsonl')
  writeFileSync(
    join(bin, name),
    `#!${process.execPath}
    const fs = require('node:fs')
    const stdin = fs.readFileSync(0, 'utf8')
    fs.appendFileSync(${JSON.stringify(notes)}, JSON.stringify({ argv: process.argv.slice(2), stdin, cwd: process.cwd() }) + '\\n')
    const turn = fs.readFileSync(${JSON.stringify(notes)}, 'utf8').trim().split('\\n').length
    const log = fs.readFileSync(${JSON.stringify(recorded)} + '/${says}.' + Math.min(turn, 2) + '.log', 'utf8')
    // Some repeat their prompt.
    fs.writeSync(1, log.replaceAll(/(Remember|From|Where|What did)[^"]*\\[\\[[^"]*/g, () => JSON.stringify(stdin).slice(1, -1)))
    ${more}`,
    { mode: 0o755 },
  )
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}` }
  const calls = () =>
    existsSync(notes)
      ? readFileSync(notes, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : []
  const options: RunOptions = { cwd, env, fsDiff: false }
  return { cwd, audit, options, calls, path: bin }
}

const NASTY = '--help "q" $(touch x)\n- and `rm`'

const rows = [
  ['codex', 'exec --json -s workspace-write', 'exec --json -s workspace-write resume ID -'],
  ['gemini', '-m pro -o stream-json', '-m pro -o stream-json --resume ID'],
  ['qwen', '--auth-type openai -o stream-json', '--auth-type openai -o stream-json --resume ID'],
  ['opencode', 'run --format json', 'run --format json -s ID'],
  ['kilo', 'run --format json --auto', 'run --format json --auto -s ID'],
  ['copilot', '--output-format json --allow-all-tools', '--output-format json --allow-all-tools --resume=ID'],
  ['pi', '--mode json -p', '--mode json --session ID -p'],
  [
    'claude',
    '-p --output-format stream-json --verbose',
    '-p --output-format stream-json --verbose --resume=ID',
  ],
] as const

test.for(rows)(
  '%s is continued in its own session, by its run and by its directory',
  async ([name, first, next]) => {
    const { audit, options, calls, cwd } = standIn(name)
    const agent = run(name, first.split(' '), { ...options, audit, prompt: 'begin' })
    const begun = await agent.end
    expect(begun).toMatchObject({ ok: true, task: 'begin', rounds: [], attempt: 1 })
    const again = await agent.reply(NASTY).end
    expect(again).toMatchObject({ ok: true, session: begun.session, task: NASTY, attempt: 2 })
    const { env } = options
    const later = await reply(audit, 'and later', { env, fsDiff: false }).end
    expect(later).toMatchObject({ ok: true, session: begun.session, attempt: 3, runId: begun.runId })
    const words = (line: string) => line.replace('ID', begun.session!).split(' ')
    expect(calls()).toEqual([
      { argv: first.split(' '), stdin: 'begin', cwd },
      { argv: words(next), stdin: NASTY, cwd },
      { argv: words(next), stdin: 'and later', cwd },
    ])
    expect(readdirSync(cwd)).not.toContain('x')
    const sent = ['begin', NASTY, 'and later']
    expect(sent.map((_, n) => readFileSync(join(audit, `stdin.${n + 1}.log`), 'utf8'))).toEqual(sent)
    const events: AgentEvent[] = []
    for await (const event of replay(audit)) events.push(event)
    expect(events.flatMap((event) => (event.type === 'user.message' ? [event.data.text] : []))).toEqual(sent)
    const kept = readFileSync(join(audit, 'events.jsonl'), 'utf8').trim().split('\n')
    expect(events.map((event) => JSON.stringify(event))).toEqual(kept)
  },
)

test('a task in the command line is not sent again, and a run without a directory can be continued', async () => {
  const { options, calls, cwd } = standIn('codex')
  const agent = run('codex', ['exec', '--json', 'begin'], options)
  const first = await agent.end
  expect(first).toMatchObject({ task: 'begin', audit: undefined })
  const second = await agent.reply('go on').end
  // The thread counts 300 tokens by now, of which this turn used 200.
  expect(second).toMatchObject({ attempt: 2, runId: first.runId, tokens: { input: 200 } })
  expect(calls().map(({ argv }) => argv.join(' '))).toEqual([
    'exec --json begin',
    `exec --json resume ${first.session} -`,
  ])
  expect(readdirSync(cwd).sort()).toEqual(['bin', 'calls.jsonl'])
})

test('an agent that begins another session failed, and is ended', async () => {
  const { audit, options } = standIn('codex', 'codex', 'if (turn === 2) setInterval(() => {}, 1000)')
  const agent = run('codex', ['exec', '--json'], { ...options, audit, prompt: 'a' })
  await agent.end
  for (const n of [1, 2]) {
    const log = readFileSync(join(recorded, `codex-round.${n}.log`))
    writeFileSync(join(options.cwd!, `other.${n}.log`), log)
  }
  // The same program, but it prints another thread.
  const program = join(options.cwd!, 'bin', 'codex')
  writeFileSync(program, readFileSync(program, 'utf8').replaceAll(`/codex.'`, `/codex-round.'`))
  const events: AgentEvent[] = []
  const next = agent.reply('b')
  for await (const event of next) events.push(event)
  expect(events.flatMap((event) => ('code' in event.data ? [event.data.code] : []))).toContain(
    'SESSION_CHANGED',
  )
  expect(await next.end).toMatchObject({ outcome: 'failed', ok: false, reason: 'session_changed' })
  const again: AgentEvent[] = []
  for await (const event of replay(audit)) again.push(event)
  expect(again.filter((event) => event.attempt_number === 2)).toEqual(events)
})

test('a reply in a shell is read as the turn before, unless its flags say otherwise', async () => {
  const { audit, options, path } = standIn('codex')
  await run('codex', ['exec', '--json'], { ...options, audit, prompt: 'a', doneMarker: 'ready' }).end
  vi.stubEnv('PATH', `${path}${delimiter}${process.env['PATH']}`)
  const replied = ['reply', '--no-fs-diff', '--json', audit]
  expect((await inside([...replied, 'b'])).code).toBe(5)
  expect((await inside([...replied, '--done-marker', 'other', 'c'])).code).toBe(5)
  vi.unstubAllEnvs()
  const metas = [1, 2, 3].map((n) => JSON.parse(readFileSync(join(audit, `meta.${n}.json`), 'utf8')))
  expect(metas.map(({ reading }) => reading.done_marker)).toEqual(['ready', 'ready', 'other'])
  expect(metas.map(({ engine }) => engine)).toEqual(['codex', 'codex', 'codex'])
})

test('a first turn whose recorder was lost is completed before it is continued', async () => {
  const { audit, options } = standIn('codex')
  await run('codex', ['exec', '--json'], { ...options, audit, prompt: 'a' }).end
  const meta = join(audit, 'meta.1.json')
  writeFileSync(meta, readFileSync(meta, 'utf8').replace(/"complete": *true/, '"complete":false'))
  writeFileSync(join(audit, 'events.jsonl'), '')
  expect(await codeOf(reply(audit, 'b', { env: options.env }).end)).toMatch(
    /^CANNOT_REPLY: .*replay --resume/,
  )
  await resume(audit)
  expect(await reply(audit, 'b', { env: options.env, fsDiff: false }).end).toMatchObject({
    attempt: 2,
    ok: true,
  })
})

const codeOf = async (end: Promise<unknown>) =>
  end.then(
    () => 'no fault',
    (error) => `${(error as Fault).code}: ${(error as Fault).message}`,
  )

test('what cannot be continued says why, and starts nothing', async () => {
  const { audit, options, calls } = standIn('codex')
  expect(await codeOf(reply(join(audit, 'none'), 'x').end)).toMatch(
    /^CANNOT_REPLY: .*no run that was recorded/,
  )
  const agent = run('codex', ['exec', '--json'], { ...options, audit, prompt: 'a' })
  expect(await codeOf(agent.reply('x').end)).toMatch(/^CANNOT_REPLY: .*has not ended/)
  await agent.end
  expect(await codeOf(agent.reply(' \n').end)).toMatch(/^CANNOT_REPLY: .*empty/)
  const meta = join(audit, 'meta.1.json')
  const kept = readFileSync(meta, 'utf8')
  writeFileSync(meta, kept.replace('"exec"', '"exec","--ephemeral"'))
  expect(await codeOf(reply(audit, 'x').end)).toMatch(/^CANNOT_REPLY: .*command line/)
  writeFileSync(meta, kept)
  const journal = join(audit, 'events.jsonl')
  const events = readFileSync(journal, 'utf8')
  const id = /"session_id":"([^"]+)"/.exec(events)![1]!
  writeFileSync(journal, events.replaceAll(id, '--last'))
  expect(await codeOf(reply(audit, 'x').end)).toMatch(/^CANNOT_REPLY: .*session id is "--last"/)
  const text = run('node', ['-e', 'console.log(1)'], { cwd: options.cwd, engine: 'text' })
  await text.end
  expect(await codeOf(text.reply('x').end)).toMatch(/^CANNOT_REPLY: .*no engine was recognised/)
  expect(calls()).toHaveLength(1)
})

test('a run that is still running is not continued a second time', async () => {
  const { audit, options, calls } = standIn('codex', 'codex', 'if (turn === 2) setInterval(() => {}, 1000)')
  const agent = run('codex', ['exec', '--json'], { ...options, audit, prompt: 'a' })
  await agent.end
  const second = agent.reply('b')
  for await (const event of second)
    if (event.type === 'agent.message.final') {
      expect(await codeOf(agent.reply('c').end)).toMatch(/^CANNOT_REPLY: .*still running/)
      expect(await codeOf(reply(audit, 'c').end)).toMatch(/^CANNOT_REPLY: .*still running/)
      second.kill()
    }
  expect(calls()).toHaveLength(2)
})

test('what the rounds have used is added up where the agent counts each turn', async () => {
  const { options } = standIn('claude')
  const never = { type: 'object', required: ['nothing like it'] }
  const words = '-p --output-format stream-json --verbose'.split(' ')
  const given = { ...options, prompt: 'report', schema: never }
  const once = await run('claude', words, given).end
  const { tokens: usage, cost } = await run('claude', words, {
    ...given,
    ...standIn('claude').options,
    rounds: 1,
  }).end
  expect([once.tokens, once.cost]).toEqual([
    { input: 3, output: 5 },
    { amount: 0.01, currency: 'USD' },
  ])
  expect([usage, cost]).toEqual([
    { input: 6, output: 10 },
    { amount: 0.02, currency: 'USD' },
  ])
})

const Report = {
  type: 'object',
  required: ['severity', 'line'],
  properties: { severity: { enum: ['low', 'high'] }, line: { type: 'integer' } },
}

test.each([undefined, 'audit'])('a result that fails its schema is asked for again, in %s', async (place) => {
  const { audit, options, calls } = standIn('codex', 'codex-round')
  const agent = run('codex', ['exec', '--json'], {
    ...options,
    ...(place && { audit }),
    prompt: 'report',
    schema: Report,
    rounds: 1,
  })
  const attempts = new Set<number>()
  for await (const event of agent) attempts.add(event.attempt_number)
  const end = await agent.end
  expect([...attempts]).toEqual([1, 2])
  expect(end).toMatchObject({
    outcome: 'succeeded',
    result: { status: 'success', value: { severity: 'high', line: 12 } },
    rounds: [{ status: 'failed' }],
    // The thread counts 200 tokens by now, which are those of both rounds.
    tokens: { input: 200, output: 20 },
    completion: { tokens: { input: 100, output: 10 } },
  })
  expect(calls()[1].stdin).toMatch(
    /^The JSON of your answer does not match its schema:\n- \/severity: .+\n- \/line: .+\nReply with the corrected JSON only\.$/,
  )
})

test('no more rounds are asked for than allowed, and none after a failed turn', async () => {
  const { options, calls } = standIn('codex', 'codex-round')
  const never = { type: 'object', required: ['nothing like it'] }
  const given = { ...options, prompt: 'report', schema: never, rounds: 2 }
  const end = await run('codex', ['exec', '--json'], given).end
  expect(end).toMatchObject({
    outcome: 'failed',
    attempt: 3,
    rounds: [{ status: 'failed' }, { status: 'failed' }],
  })
  expect(calls()).toHaveLength(3)
  const failing = standIn('codex', 'codex-round', 'process.exit(1)')
  const failed = await run('codex', ['exec', '--json'], { ...given, ...failing.options }).end
  expect(failed).toMatchObject({ outcome: 'failed', rounds: [] })
  expect(failing.calls()).toHaveLength(1)
})

test('takes options of its own for the next turn', async () => {
  const { options } = standIn('codex', 'codex', 'if (turn === 2) setTimeout(() => {}, 60_000)')
  const agent = run('codex', ['exec', '--json'], { ...options, prompt: 'Remember [[7]].' })
  expect((await agent.end).ok).toBe(true)
  const next = agent.reply('What did I say?', { timeout: 500, schema: { type: 'object', required: ['a'] } })
  expect(await next.end).toMatchObject({ attempt: 2, reason: 'timeout', result: { status: 'failed' } })
  for (const [given, words] of [
    [{ tiemout: 5 }, 'did you mean timeout?'],
    [{ audit: 'x' }, 'reply takes no audit'],
    [{ rounds: 1 }, 'is for a result that fails its schema'],
  ] as const)
    expect(await codeOf(agent.reply('x', given as object).end)).toContain(words)
})
