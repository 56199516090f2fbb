import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { claude, codex, gemini, iflow } from '../../src/engines.ts'
import { type AgentEvent as Event, replay, run } from '../../src/index.ts'
import { agent, codesOf, ran, workspace } from './agent.ts'

/** Prints its end and stays. */
const stays = `for (const line of lines) say(line); setInterval(() => {}, 1000)`

async function all(events: AsyncIterable<Event>): Promise<Event[]> {
  const found: Event[] = []
  for await (const event of events) found.push(event)
  return found
}

describe('endAfter', () => {
  test('ends a process that told its end and does not leave, and the outcome is what it told', async () => {
    const { cwd, audit } = workspace()
    const { events, end } = await ran({ ...agent(cwd, stays), cwd, audit, endAfter: 50 })
    expect(end).toMatchObject({
      outcome: 'finished',
      completion: { state: 'awaiting_user_input', evidence: { exit_code: null, signal: null } },
      reason: 'end_signal',
      signal: 'SIGTERM',
    })
    expect(codesOf(events)).toEqual(['RUN_LINGERED'])
    const meta = JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))
    expect(meta).toMatchObject({ outcome: 'finished', reason: 'end_signal', complete: true })
    expect(await all(replay(audit))).toEqual(events)
  })

  test('finds the end signal of an engine that auto picked', async () => {
    const { cwd, audit } = workspace()
    const { command, args } = agent(cwd, stays)
    const live = run(command, args, { cwd, audit, fsDiff: false, endAfter: 50 })
    await all(live)
    expect(await live.end).toMatchObject({ outcome: 'finished', reason: 'end_signal' })
  })

  test('a done marker stays a success', async () => {
    const { cwd, audit } = workspace()
    const done = JSON.stringify('{"__SKILL_DONE__": true}')
    const body = `for (const line of lines) say(line.replace('"Grüße — done."', ${JSON.stringify(done)})); setInterval(() => {}, 1000)`
    const { end } = await ran({ ...agent(cwd, body), cwd, audit, endAfter: 50 })
    expect(end).toMatchObject({ outcome: 'succeeded', reason: 'end_signal' })
  })

  const info = '<Execution Info>\\n{"session-id": "session-00000001"}\\n</Execution Info>\\n'
  const document = { session_id: 's', response: 'Hello' }
  const whole = JSON.stringify(JSON.stringify({ ...document, stats: {} }, null, 2))
  test.each([
    ['a document', gemini, `fs.writeSync(1, ${whole})`],
    ['a document on stderr', gemini, `fs.writeSync(2, ${whole})`],
    ['a document without stats', gemini, `fs.writeSync(1, ${JSON.stringify(JSON.stringify(document))})`],
    ['a block on stderr', iflow, `fs.writeSync(1, 'Hello\\n'); fs.writeSync(2, '${info}')`],
    ['a block on stdout', iflow, `fs.writeSync(1, 'Hello\\n${info}')`],
    ['a block that comes first', iflow, `fs.writeSync(2, '${info}'); fs.writeSync(1, 'Hello\\n')`],
  ])('finds the end that is %s', async (_, engine, print) => {
    const { cwd, audit } = workspace()
    const body = `${print}; setInterval(() => {}, 1000)`
    const { end, events } = await ran({ ...agent(cwd, body), engine, cwd, audit, endAfter: 50 })
    expect(end).toMatchObject({ completion: { state: 'awaiting_user_input' }, reason: 'end_signal' })
    const said = events.filter(({ type }) => type === 'agent.message.final').map(({ data }) => data)
    expect(said).toMatchObject([{ text: 'Hello' }])
    expect(await all(replay(audit))).toEqual(events)
  })

  test('kills what does not listen, after killGrace', async () => {
    const { cwd, audit } = workspace()
    const body = `process.on('SIGTERM', () => {}); ${stays}`
    const { end } = await ran({ ...agent(cwd, body), cwd, audit, endAfter: 50, killGrace: 100 })
    expect(end).toMatchObject({ outcome: 'finished', reason: 'end_signal', signal: 'SIGKILL' })
  })

  test('lets a process go on that begins another turn', async () => {
    const { cwd, audit } = workspace()
    // In one write, so that no pause on a busy host comes between the end of a turn and the next.
    const body = `say([...lines, lines[1]].join('\\n')); await sleep(600); say(lines[2]); say(lines[3])`
    const { end, events } = await ran({ ...agent(cwd, body), cwd, audit, endAfter: 300 })
    expect(end).toMatchObject({ outcome: 'finished', reason: null, exitCode: 0 })
    expect(events.filter((event) => event.type === 'agent.message.final')).toHaveLength(2)
  })

  test('does nothing to a process that leaves by itself, or that has not told its end', async () => {
    const { cwd, audit } = workspace()
    const leaves = await ran({
      ...agent(cwd, `for (const line of lines) say(line)`),
      cwd,
      audit,
      endAfter: 60_000,
    })
    expect(leaves.end).toMatchObject({ outcome: 'finished', reason: null, exitCode: 0 })
    const silent = `say(lines[0]); say(lines[1]); await sleep(400)`
    const quiet = await ran({ ...agent(cwd, silent), cwd, audit, endAfter: 50 })
    expect(quiet.end).toMatchObject({ outcome: 'unknown', reason: null, exitCode: 0 })
  })

  test('a turn that failed is no end signal', async () => {
    const { cwd, audit } = workspace()
    const failed = '{"type":"turn.failed","error":{"message":"no"}}'
    const body = `say(lines[0]); say(lines[1]); say(${JSON.stringify(failed)}); await sleep(300); process.exitCode = 1`
    const { end } = await ran({ ...agent(cwd, body), cwd, audit, endAfter: 50 })
    expect(end).toMatchObject({ outcome: 'failed', reason: null, exitCode: 1 })
  })
})

describe('run(command, args, options)', () => {
  test('finds the engine, and its end has outcome, result and usage', async () => {
    const { cwd, audit } = workspace()
    const { command, args } = agent(
      cwd,
      `for (const line of lines) say(line.replace('"Grüße — done."', '"{\\\\"ok\\\\": true}"'))`,
    )
    const schema = { type: 'object', required: ['ok'] }
    const live = run(command, args, { cwd, audit, schema })
    const events = await all(live)
    expect(events.at(-1)?.source.engine).toBe('codex')
    expect(await live.end).toMatchObject({
      outcome: 'succeeded',
      ok: true,
      result: { status: 'success', value: { ok: true } },
      tokens: { input: 1, output: 2, cached: 0 },
    })
  })

  test('has no usage where the engine told none', async () => {
    const { cwd, audit } = workspace()
    const live = run('true', [], { cwd, audit, engine: claude })
    await all(live)
    expect(await live.end).toMatchObject({ tokens: null, result: null, exitCode: 0 })
  })

  test('gives the same as the form with one object', async () => {
    const { cwd, audit } = workspace()
    const program = agent(cwd, `for (const line of lines) say(line)`)
    const options = { cwd, engine: codex, runId: 'r', fsDiff: false } as const
    const one = await all(run(program.command, program.args, { ...options, audit: join(audit, 'a') }))
    const two = await all(run({ ...program, ...options, audit: join(audit, 'b') }))
    const plain = (events: Event[]) => events.map(({ ts, ...rest }) => rest)
    expect(plain(one)).toEqual(plain(two))
  })

  test.each<[string, unknown[]]>([
    ['an object without a command', [{}]],
    ['options in the place of args', ['codex', { engine: codex }]],
    ['one string of arguments', ['codex', 'exec --json']],
    ['a number among the arguments', ['codex', [7]]],
  ])('%s is BAD_OPTION', async (_what, given) => {
    const live = (run as unknown as (...args: unknown[]) => ReturnType<typeof run>)(...given)
    await expect(live.end).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
})
