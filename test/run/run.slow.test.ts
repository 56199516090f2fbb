import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { codex } from '../../src/engines/codex/codex.ts'
import type { Engine } from '../../src/events/engine.ts'
import { isSameProcess } from '../../src/process/tree.ts'
import { replay } from '../../src/run/replay.ts'
import { run } from '../../src/run/run.ts'
import type { RunCommand } from '../../src/run/run-options.ts'
import { built } from '../built.ts'
import { agent, codesOf, codexLines, ran, types, workspace } from './agent.ts'

const read = (dir: string, name: string) => readFileSync(join(dir, name), 'utf8')
const meta = (dir: string, attempt = 1) => JSON.parse(read(dir, `meta.${attempt}.json`))

async function replayed(dir: string, engine?: Engine): Promise<string> {
  let text = ''
  for await (const event of replay(dir, { engine })) text += `${JSON.stringify(event)}\n`
  return text
}

/** An agent of this body that is going on. */
function begun(body: string, options: Partial<RunCommand> = {}) {
  const place = workspace()
  const live = run({ ...agent(place.cwd, body), engine: codex, fsDiff: false, ...place, ...options })
  return { ...place, live }
}

test('records everything, and the events it gives are the ones it writes', async () => {
  const { cwd, audit } = workspace()
  writeFileSync(join(cwd, 'old.txt'), 'old')
  const program = agent(
    cwd,
    `for (const line of lines) say(line); fs.writeSync(2, 'a word\\n'); fs.writeFileSync('new.txt', 'x'); fs.appendFileSync('old.txt', '!')`,
  )
  const { events, end } = await ran({ ...program, cwd, audit, fsDiff: {} })
  expect(types(events)).toContain('agent.message.final')
  expect(end).toMatchObject({
    attempt: 1,
    exitCode: 0,
    signal: null,
    reason: null,
    completion: { state: 'awaiting_user_input' },
  })
  expect(read(audit, 'stdout.1.log')).toBe(`${codexLines.join('\n')}\n`)
  expect(read(audit, 'stderr.1.log')).toBe('a word\n')
  expect(read(audit, 'events.jsonl')).toBe(events.map((event) => `${JSON.stringify(event)}\n`).join(''))
  expect(read(audit, 'parser_diagnostics.jsonl').split('\n').length - 1).toBe(
    events.filter((event) => event.event.category === 'diagnostic').length,
  )
  expect(JSON.parse(read(audit, 'fs-diff.1.json'))).toEqual({
    created: ['new.txt'],
    modified: ['old.txt'],
    deleted: [],
  })
  expect(meta(audit)).toMatchObject({
    attempt_number: 1,
    engine: 'codex',
    mode: 'pipe',
    exit_code: 0,
    signal: null,
    complete: true,
    bytes: { stdout: Buffer.byteLength(`${codexLines.join('\n')}\n`), stderr: 7 },
  })
  const covered = read(audit, 'chunks.1.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(
    covered.filter(([stream]) => stream === 'stdout').reduce((sum, [, , length]) => sum + length, 0),
  ).toBe(meta(audit).bytes.stdout)
})

test('a replay gives the same events, byte for byte', async () => {
  const { cwd, audit } = workspace()
  const program = agent(
    cwd,
    `
    for (let i = 0; i < 40; i++) { const line = lines[i % 3]; fs.writeSync(1, line.slice(0, 20)); await sleep(i % 5); fs.writeSync(1, line.slice(20) + '\\n'); if (i % 7 === 0) fs.writeSync(2, 'noise ' + i + '\\n') }
    process.exitCode = 4`,
  )
  await ran({ ...program, cwd, audit })
  await ran({
    ...agent(cwd, 'say(lines[0]); say("not json"); process.kill(process.pid, "SIGKILL")'),
    cwd,
    audit,
  })
  expect(await replayed(audit)).toBe(read(audit, 'events.jsonl'))
  expect(meta(audit, 2)).toMatchObject({ exit_code: null, signal: 'SIGKILL' })
})

test('attempts count up and share the id of the run', async () => {
  const { cwd, audit } = workspace()
  const program = agent(cwd, 'say(lines[0])')
  const first = await ran({ ...program, cwd, audit })
  const second = await ran({ ...program, cwd, audit })
  expect([first.end.attempt, second.end.attempt]).toEqual([1, 2])
  expect(second.end.runId).toBe(first.end.runId)
  expect(second.events[0]).toMatchObject({ seq: 1, attempt_number: 2 })
  expect(existsSync(join(audit, 'stdout.2.log'))).toBe(true)
})

test('raw bytes are in the log before their events come out', async () => {
  const { live, audit } = begun('for (let i = 0; i < 200; i++) say(lines[2])')
  for await (const event of live) {
    if (event.raw_ref)
      expect(readFileSync(join(audit, 'stdout.1.log')).length).toBeGreaterThanOrEqual(event.raw_ref.byte_to)
  }
})

test('a reader who is slow slows neither the agent nor its recording', async () => {
  const { live, audit } = begun('for (let i = 0; i < 5000; i++) say(lines[2])')
  const iterator = live[Symbol.asyncIterator]()
  await iterator.next()
  // Nobody reads on, but the process comes to its end and every byte of it is there.
  const pid = meta(audit).pid
  while (isSameProcess(pid, null)) await new Promise((resolve) => setTimeout(resolve, 10))
  expect(live.readableLength).toBeLessThan(1000)
  let count = 1
  while (!(await iterator.next()).done) count++
  expect(count).toBeGreaterThanOrEqual(5000)
  expect(read(audit, 'stdout.1.log').split('\n').length - 1).toBe(5000)
})

test('a script that writes to /dev/stderr finds a real pipe', async () => {
  const { cwd, audit } = workspace()
  await ran({ command: 'sh', args: ['-c', 'echo out > /dev/stdout; echo err > /dev/stderr'], cwd, audit })
  expect([read(audit, 'stdout.1.log'), read(audit, 'stderr.1.log')]).toEqual(['out\n', 'err\n'])
})

test('a time limit ends it, with the reason in meta and in the events', async () => {
  const { cwd, audit } = workspace()
  const { events, end } = await ran({
    ...agent(cwd, 'say(lines[0]); await sleep(60000)'),
    cwd,
    audit,
    timeout: 300,
  })
  expect(end).toMatchObject({
    reason: 'timeout',
    signal: 'SIGTERM',
    completion: { state: 'interrupted', reason_code: 'SIGNAL' },
  })
  expect(meta(audit)).toMatchObject({ reason: 'timeout', signal: 'SIGTERM' })
  expect(codesOf(events)).toContain('RUN_TIMEOUT')
  expect(await replayed(audit)).toBe(read(audit, 'events.jsonl'))
})

const call = (id: string) =>
  `say('{"type":"item.started","item":{"id":"${id}","type":"command_execution","command":"ls","status":"in_progress"}}');`

test.each([
  ['is killed by our signal', '', { signal: 'SIGTERM', exitCode: null }],
  [
    'exits with 0 on our signal',
    "process.on('SIGTERM', () => process.exit(0));",
    { signal: null, exitCode: 0 },
  ],
])('a limit ends it, and it has failed, if it %s', async (_how, first, exit) => {
  const { cwd, audit } = workspace()
  const body = `${first} say(lines[0]); say(lines[1]); ${call('a')} ${call('b')} ${call('c')} await sleep(60000)`
  const { events, end } = await ran({ ...agent(cwd, body), cwd, audit, limit: { toolCalls: 2 } })
  expect(end).toMatchObject({ reason: 'limit', limit: 'toolCalls', outcome: 'failed', ok: false, ...exit })
  expect(meta(audit)).toMatchObject({ reason: 'limit', outcome: 'failed', session: 't-1' })
  const [note] = events.filter((event) => 'code' in event.data && event.data.code === 'RUN_LIMIT')
  expect(note?.data).toMatchObject({ message: expect.stringContaining('limit of 2 tool calls (3)') })
  expect(await replayed(audit)).toBe(read(audit, 'events.jsonl'))
})

test.each([true, false])('a limit of output ends one endless line, too (recorded: %s)', async (recorded) => {
  const { cwd, audit } = workspace()
  const body = "const more = () => process.stdout.write('x'.repeat(1000), more); more(); await sleep(60000)"
  const place = recorded ? { audit } : {}
  const { end } = await ran({ ...agent(cwd, body), cwd, limit: { output: 10_000 }, ...place })
  expect(end).toMatchObject({ reason: 'limit', limit: 'output', outcome: 'failed', ok: false })
  expect(end.problem).toMatch(
    /^the run passed its limit of 10000 bytes of output \(\d+\), so the process was ended$/,
  )
  if (recorded) expect(await replayed(audit)).toBe(read(audit, 'events.jsonl'))
})

test('a limit of output ends an agent whose reader is far behind', async () => {
  const { cwd, audit } = workspace()
  const body =
    "const more = () => process.stdout.write('x\\n'.repeat(1000), more); more(); await sleep(60000)"
  const live = run({ ...agent(cwd, body), cwd, audit, limit: { output: 1_000_000 } })
  const events = live[Symbol.asyncIterator]()
  await events.next()
  // Nobody reads on until it is gone.
  const isGone = () => meta(audit).pid > 0 && !isSameProcess(meta(audit).pid, meta(audit).pid_started)
  await expect.poll(isGone, { timeout: 20_000 }).toBe(true)
  await events.return!()
  expect(await live.end).toMatchObject({
    reason: 'limit',
    ok: false,
    problem: expect.stringMatching(/limit of 1000000 bytes of output/),
  })
})

/** A program of this name that prints these lines. */
function program(cwd: string, name: string, lines: readonly string[]): string {
  const path = join(cwd, name)
  writeFileSync(path, `#!/bin/sh\ncat <<'X'\n${lines.join('\n')}\nX\n`, { mode: 0o755 })
  return path
}

test.each([true, false])('limits tell what they cannot do (recorded: %s)', async (recorded) => {
  const { cwd, audit } = workspace()
  const command = program(cwd, 'codex', codexLines)
  const place = recorded ? { audit } : {}
  const limit = { cost: 1, tokens: 2 }
  const { events, end } = await ran({ command, args: ['exec'], cwd, limit, engine: 'auto', ...place })
  expect(end).toMatchObject({ ok: true, problem: null, reason: null, limit: 'tokens' })
  expect(events[0]?.data).toMatchObject({ code: 'LIMIT_BLIND', message: expect.stringContaining('cost') })
  expect(events.at(-2)?.data).toMatchObject({
    code: 'LIMIT_PASSED',
    message: expect.stringContaining('its limit of 2 tokens (3)'),
  })
  expect(end.notes.map(({ code }) => code)).toEqual(['LIMIT_BLIND', 'LIMIT_PASSED'])
  if (recorded) expect(await replayed(audit)).toBe(read(audit, 'events.jsonl'))
})

test('a limit of what a run did not report is told at its end, if its engine is not known before', async () => {
  const { cwd, audit } = workspace()
  const limit = { cost: 1, tokens: 50 }
  const own = { ...agent(cwd, 'for (const line of lines) say(line)'), engine: 'auto' as const }
  const { events, end } = await ran({ ...own, cwd, audit, limit })
  expect(end.notes).toMatchObject([{ code: 'LIMIT_BLIND', message: expect.stringContaining('no cost') }])
  expect(events.at(-2)?.data).toMatchObject({ code: 'LIMIT_BLIND' })
  expect(await replayed(audit)).toBe(read(audit, 'events.jsonl'))
})

test('an agent in its text mode is told what to add, unless it prints records all the same', async () => {
  const { cwd, audit } = workspace()
  const command = program(cwd, 'claude', ['I fixed it.'])
  const { events, end } = await ran({ command, args: ['-p', 'fix it'], cwd, audit, engine: 'auto' })
  const message = expect.stringContaining('add --output-format stream-json --verbose')
  expect(end).toMatchObject({ outcome: 'unknown', problem: message, text: 'I fixed it.' })
  expect(end.notes).toMatchObject([{ code: 'TEXT_MODE', message }])
  expect(codesOf(events).filter((code) => code === 'TEXT_MODE')).toHaveLength(1)
  expect(await replayed(audit)).toBe(read(audit, 'events.jsonl'))
  const records = program(cwd, 'codex', codexLines)
  const { end: good } = await ran({ command: records, args: ['exec', 'fix it'], cwd, engine: 'auto' })
  expect(good).toMatchObject({ outcome: 'finished', notes: [], problem: null, answer: null })
})

test('the words of a run that was stopped, or left, say who did it', async () => {
  const limited = begun('await sleep(60000)', { timeout: 300 }).live
  expect(await limited.end).toMatchObject({ problem: 'it ran longer than 300 ms, so it was ended' })
  const silent = begun('await sleep(60000)', { idleTimeout: 300 }).live
  expect(await silent.end).toMatchObject({ problem: 'it printed nothing for 300 ms, so it was ended' })
  const { live } = begun('for (const line of lines.slice(0, 2)) say(line); await sleep(60000)')
  for await (const _ of live) break
  expect(await live.end).toMatchObject({
    outcome: 'cancelled',
    problem: expect.stringMatching(/reader .* left/),
  })
})

test('a limit that is passed at the end of the turn does not end a run, but the next turn does', async () => {
  const { cwd, audit } = workspace()
  const turn = 'for (const line of lines) say(line);'
  const limit = { tokens: 2 }
  const { end } = await ran({ ...agent(cwd, `${turn} await sleep(200)`), cwd, audit, limit })
  expect(end).toMatchObject({
    reason: null,
    outcome: 'finished',
    text: 'Grüße — done.',
    session: 't-1',
    cost: null,
  })
  const body = `${turn} await sleep(200); say(lines[1]); await sleep(60000)`
  const again = await ran({ ...agent(cwd, body), cwd, limit })
  expect(again.end).toMatchObject({ reason: 'limit', outcome: 'failed' })
})

test('silence ends it, but a word in time does not', async () => {
  const { cwd, audit } = workspace()
  // Two and a half seconds of words, each well within the limit, then silence.
  const script = 'for i in 1 2 3 4 5 6; do echo word; sleep 0.4; done; sleep 60'
  const { events, end } = await ran({ command: 'sh', args: ['-c', script], cwd, audit, idleTimeout: 1800 })
  expect(end.reason).toBe('idle_timeout')
  expect(codesOf(events)).toContain('RUN_IDLE')
  expect(read(audit, 'stdout.1.log')).toBe('word\n'.repeat(6))
})

test('one that does not heed SIGTERM is killed after the grace', async () => {
  const body = "process.on('SIGTERM', () => {}); say(lines[0]); await sleep(60000)"
  const { live } = begun(body, { killGrace: 200 })
  for await (const _event of live) live.kill('SIGTERM')
  expect(await live.end).toMatchObject({ reason: 'interrupted', signal: 'SIGKILL' })
})

test('a signal reaches the whole group', async () => {
  const { live } = begun('', { command: 'sh', args: ['-c', 'trap "" INT; sleep 60 & echo $!; wait'] })
  let grandchild = 0
  for await (const event of live) {
    if (event.type !== 'raw.stdout') continue
    grandchild = Number((event.data as { line: string }).line)
    expect(isSameProcess(grandchild, null)).toBe(true)
    live.kill('SIGINT')
    live.kill('SIGKILL')
  }
  expect(await live.end).toMatchObject({ reason: 'interrupted', signal: 'SIGKILL' })
  expect(isSameProcess(grandchild, null)).toBe(false)
})

test('a grandchild that holds the pipe does not hang us', async () => {
  const { cwd, audit } = workspace()
  const { events, end } = await ran({
    command: 'sh',
    args: ['-c', `echo '${codexLines[3]}'; sleep 60 & echo $! >&2`],
    cwd,
    audit,
    pipeGrace: 200,
  })
  expect(end).toMatchObject({ exitCode: 0, reason: null })
  expect(codesOf(events)).toContain('PIPE_HELD_OPEN')
  process.kill(Number(read(audit, 'stderr.1.log')))
})

test('leaving the flow ends the process and frees the directory; a resume completes the events', async () => {
  const { live, cwd, audit } = begun('say(lines[0]); say(lines[1]); await sleep(60000)')
  for await (const _event of live) break
  expect(await live.end).toMatchObject({ outcome: 'cancelled', ok: false, session: 't-1', audit })
  expect(meta(audit)).toMatchObject({
    reason: 'abandoned',
    signal: 'SIGTERM',
    outcome: 'cancelled',
    complete: false,
  })
  expect(isSameProcess(meta(audit).pid, null)).toBe(false)
  await ran({ ...agent(cwd, 'say(lines[0])'), cwd, audit })
  expect(meta(audit).complete).toBe(true)
  expect(await replayed(audit)).toBe(read(audit, 'events.jsonl'))
})

test('an attempt of an engine of your own is completed with that engine', async () => {
  const mine = { ...codex, name: 'mine' }
  const body = 'say(lines[0]); say(lines[2]); await sleep(60000)'
  const { live, cwd, audit } = begun(body, { engine: mine })
  for await (const _event of live) break
  expect((await live.end).outcome).toBe('cancelled')
  await ran({ ...agent(cwd, 'say(lines[0])'), engine: mine, cwd, audit })
  expect(await replayed(audit, mine)).toBe(read(audit, 'events.jsonl'))
  expect(read(audit, 'events.jsonl')).toContain('"engine":"mine"')
})

test('a command that is not there is a fault, and leaves no attempt behind', async () => {
  const { cwd, audit } = workspace()
  await expect(ran({ command: 'no-such-agent', cwd, audit })).rejects.toMatchObject({ code: 'SPAWN_FAILED' })
  expect(existsSync(audit)).toBe(false)
  await expect(ran({ command: 'sh', cwd: join(cwd, 'nowhere'), audit })).rejects.toThrow('does not exist')
})

test('a second run in the same directory is refused while the first goes on', async () => {
  const { cwd, audit } = workspace()
  const program = agent(cwd, 'say(lines[0]); process.stdin.resume()')
  const live = run({ ...program, engine: codex, cwd, audit, fsDiff: false, input: { text: '' } })
  await expect(run({ ...program, cwd, audit }).end).rejects.toMatchObject({ code: 'JOURNAL_LOCKED' })
  for await (const _event of live);
  await live.end
})

test('text given as input reaches it', async () => {
  const { cwd, audit } = workspace()
  await ran({ command: 'cat', cwd, audit, input: { text: 'hello\n' } })
  expect(read(audit, 'stdout.1.log')).toBe('hello\n')
})

test('60 MB that are not read yet are not held in memory', async () => {
  const { cwd, audit } = workspace()
  const script = `
    import { run } from ${JSON.stringify(built('src/index.ts'))}
    const live = run({ command: 'sh', args: ['-c', 'head -c 60000000 /dev/zero | tr "\\\\0" "x" | fold -w 1000'], engine: 'codex', cwd: ${JSON.stringify(cwd)}, audit: ${JSON.stringify(audit)}, fsDiff: false })
    let count = 0
    let most = 0
    for await (const event of live) if (++count % 1000 === 0) most = Math.max(most, process.memoryUsage.rss())
    console.log(JSON.stringify({ count, most }))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script])
  let said = ''
  child.stdout.on('data', (bytes) => (said += bytes))
  child.stderr.pipe(process.stderr)
  await once(child, 'close')
  const { count, most } = JSON.parse(said)
  expect(count).toBeGreaterThan(60_000)
  expect(most).toBeLessThan(250e6)
})

test.each([
  ['a link', "fs.mkdirSync('elsewhere'); fs.symlinkSync('elsewhere', '.audit')"],
  ['another directory', "fs.mkdirSync('.audit'); fs.symlinkSync('.audit', 'elsewhere')"],
])('writes nothing through %s that the agent put in place of the audit directory', async (_what, swap) => {
  const { cwd, audit } = workspace()
  const swapped = ran({
    ...agent(cwd, `for (const line of lines) say(line); fs.renameSync('.audit', 'gone'); ${swap}`),
    cwd,
    audit,
    fsDiff: {},
  })
  await expect(swapped).rejects.toMatchObject({ code: 'AUDIT_FAILED' })
  expect(readdirSync(join(cwd, 'elsewhere'))).toEqual([])
  // What was open already went on into the directory that was moved away.
  expect(read(join(cwd, 'gone'), 'stdout.1.log')).toBe(`${codexLines.join('\n')}\n`)
})

test.each([
  ['no command', { command: '' }, 'command is empty'],
  ['a time that is none', { timeout: -1 }, 'timeout must be milliseconds'],
  ['a time beyond what a timer can hold', { idleTimeout: 2 ** 31 }, 'idleTimeout must be milliseconds'],
  ['a grace that is no number', { killGrace: Number.NaN }, 'killGrace must be milliseconds'],
  ['a wait for the end that is no time', { endAfter: '5x' as never }, 'endAfter must be milliseconds'],
  ['a limit of nothing', { limit: { tokens: 0 } }, 'tokens must be a whole number above 0'],
  ['a window that is none', { window: -1 }, 'window must be a whole number above 0'],
  ['a frame of no bytes', { maxFrame: 0 }, 'maxFrame must be a whole number above 0'],
  ['a schema that is none', { schema: 5 as never }, 'expected a Standard Schema or a JSON Schema'],
  ['a schema that cannot be compiled', { schema: { type: 'nonsense' } }, 'cannot be compiled'],
  ['a marker that is no text', { doneMarker: 7 as never }, 'doneMarker must be the name of a key'],
  ['a marker without a name', { doneMarker: '' }, 'doneMarker must be the name of a key'],
  [
    'a run id of two lines',
    { runId: 'a\nb' },
    'runId must be one line that is not empty, but is "a\\u000ab"',
  ],
  ['a run id that is empty', { runId: '' }, 'runId must be one line that is not empty'],
])('refuses %s before anything is started', async (_what, options, words) => {
  const { cwd, audit } = workspace()
  const refused = {
    code: expect.stringMatching(/^BAD_(OPTION|SCHEMA)$/),
    message: expect.stringContaining(words),
  }
  await expect(run({ command: 'true', cwd, audit, ...options }).end).rejects.toMatchObject(refused)
  expect(existsSync(audit)).toBe(false)
})

test('refuses an audit directory without a name, which would be the current one', async () => {
  await expect(run({ command: 'true', audit: '' }).end).rejects.toMatchObject({ code: 'BAD_OPTION' })
  expect(existsSync('events.jsonl')).toBe(false)
})

test('starts nothing for a signal that is aborted already', async () => {
  const { cwd, audit } = workspace()
  const signal = AbortSignal.abort(new Error('too late'))
  await expect(run({ command: 'true', cwd, audit, signal }).end).rejects.toThrow('too late')
  expect(existsSync(audit)).toBe(false)
})

test('a signal that is aborted before the process is there ends it all the same', async () => {
  const { cwd, audit } = workspace()
  const stop = new AbortController()
  const live = run({ command: 'sleep', args: ['60'], cwd, audit, signal: stop.signal })
  stop.abort()
  live.resume()
  expect(await live.end).toMatchObject({ reason: 'aborted', signal: 'SIGTERM' })
})

test.runIf(existsSync('/proc/self/fd'))(
  'what cannot be started is a fault at once, and nothing of it is left',
  async () => {
    const { cwd, audit } = workspace()
    writeFileSync(join(cwd, 'plain.txt'), 'words')
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    for (const [options, why] of [
      [{ command: join(cwd, 'plain.txt') }, 'or the working directory cannot be entered (EACCES)'],
      [{ command: join(cwd, 'plain.txt', 'x') }, 'ENOTDIR'],
      [{ command: 'true', cwd: join(cwd, 'plain.txt') }, 'ENOTDIR'],
      [{ command: 'true', args: ['x'.repeat(200_000)] }, 'E2BIG'],
      [{ command: 'true', args: ['a\0b'] }, 'NUL'],
    ] as const) {
      const failed = ran({ cwd, audit, fsDiff: false, ...options })
      await expect(failed).rejects.toMatchObject({
        code: 'SPAWN_FAILED',
        message: expect.stringContaining(why),
      })
    }
    expect(open()).toBe(before)
    expect(existsSync(join(audit, 'stdout.1.log'))).toBe(false)
  },
)

test('a directory of another run is refused before anything is started', async () => {
  const { cwd, audit } = workspace()
  await ran({ command: 'true', cwd, audit, runId: 'A' })
  await expect(run({ command: 'touch', args: ['ran'], cwd, audit, runId: 'B' }).end).rejects.toThrow(
    'belongs to the run "A", not to "B"',
  )
  expect(existsSync(join(cwd, 'ran'))).toBe(false)
  expect(await ran({ command: 'true', cwd, audit })).toMatchObject({ end: { runId: 'A', attempt: 2 } })
})

test('an attempt whose files were removed keeps its number', async () => {
  const { cwd, audit } = workspace()
  await ran({ command: 'true', cwd, audit })
  for (const name of readdirSync(audit)) if (name.includes('.1.')) rmSync(join(audit, name))
  expect(await ran({ command: 'true', cwd, audit })).toMatchObject({ end: { attempt: 2 } })
})

test('typing into a run on pipes does nothing', async () => {
  const { cwd, audit } = workspace()
  const live = run({ command: 'cat', cwd, audit, fsDiff: false })
  live.type('before')
  live.once('data', () => live.type('after'))
  live.resume()
  expect(await live.end).toMatchObject({ exitCode: 0 })
  expect(read(audit, 'stdout.1.log')).toBe('')
})

test('its ids are there when run() returns, and kill() is SIGTERM', async () => {
  const { cwd, audit } = workspace()
  const agent = run('sleep', ['60'], { runs: join(cwd, 'runs'), fsDiff: false })
  expect(existsSync(agent.audit!)).toBe(true)
  expect(agent.audit!.endsWith(agent.runId.slice(0, 8))).toBe(true)
  agent.kill()
  const { runId, exitCode, signal, outcome } = await agent.end
  expect({ runId, exitCode, signal, outcome }).toEqual({
    runId: agent.runId,
    exitCode: null,
    signal: 'SIGTERM',
    outcome: 'cancelled',
  })
  const other = run('true', [], { audit, runId: 'mine', fsDiff: false })
  expect([other.runId, other.audit]).toEqual(['mine', audit])
  await other.end
})
