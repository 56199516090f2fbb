import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import { replay } from '../../src/run/replay.ts'
import { built } from '../built.ts'
import { agent, workspace } from '../run/agent.ts'
import { inside } from './inside.ts'

/** Starts an agent of this body, as its client would start it, but through `sluice run --tee`. */
function through(body: string, engine = 'text') {
  const { cwd, audit } = workspace()
  const { command, args = [] } = agent(cwd, body)
  const words = ['run', '--tee', '--engine', engine, '--no-fs-diff', '--cwd', cwd, '--audit', audit]
  const child = spawn(process.execPath, [built('src/cli/main.ts'), ...words, '--', command, ...args])
  const closed = once(child, 'close')
  // A client that writes to a closed pipe is told so; here only one of them looks.
  child.stdin.on('error', () => {})
  const log = (name: string) => readFileSync(join(audit, name))
  return { audit, child, closed, log, meta: () => JSON.parse(log('meta.1.json').toString()) }
}

/** The recorded events, which must be those of a replay. */
async function recordedEvents(audit: string): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of replay(audit)) events.push(event)
  const kept = readFileSync(join(audit, 'events.jsonl'), 'utf8').trim().split('\n')
  expect(events.map((event) => JSON.stringify(event))).toEqual(kept)
  return events
}

// What Gemini 0.61 says over ACP, shortened.
const acpAgent = `
  import { createInterface } from 'node:readline'
  const tell = (message) => say(JSON.stringify({ jsonrpc: '2.0', ...message }))
  const update = (update) => tell({ method: 'session/update', params: { sessionId: 's-1', update } })
  const options = [{ optionId: 'once', name: 'Allow', kind: 'allow_once' }, { optionId: 'no', name: 'Reject', kind: 'reject_once' }]
  const toolCall = { toolCallId: 'run-1', status: 'pending', title: 'touch x', content: [], locations: [], kind: 'execute' }
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, result } = JSON.parse(line)
    if (method === 'initialize') tell({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
    else if (method === 'session/new') tell({ id, result: { sessionId: 's-1' } })
    else if (method === 'session/prompt') tell({ id: 0, method: 'session/request_permission', params: { sessionId: 's-1', options, toolCall } })
    else if (result) {
      update({ sessionUpdate: 'tool_call', toolCallId: 'run-1', status: 'completed', title: 'touch x', content: [], kind: 'execute' })
      update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'You chose ' + result.outcome.optionId + '.' } })
      tell({ id: 3, result: { stopReason: 'end_turn' } })
    }
  }
  process.exit(3)`

/** A client of that agent: asks, answers its request, and closes stdin when the turn is over. */
async function converse(
  child: ChildProcessWithoutNullStreams,
  asked: () => Promise<void>,
): Promise<string[]> {
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const seen: string[] = []
  send({ id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } })
  for await (const line of createInterface({ input: child.stdout })) {
    seen.push(line)
    const { id, method } = JSON.parse(line)
    if (id === 1) send({ id: 2, method: 'session/new', params: { cwd: '/', mcpServers: [] } })
    if (id === 2)
      send({
        id: 3,
        method: 'session/prompt',
        params: { sessionId: 's-1', prompt: [{ type: 'text', text: 'Go.' }] },
      })
    if (method === 'session/request_permission') {
      await asked()
      send({ id, result: { outcome: { outcome: 'selected', optionId: 'once' } } })
    }
    if (id === 3) child.stdin.end()
  }
  return seen
}

test('a client and its agent talk as without us, and both halves are recorded in their order', async () => {
  const { audit, child, closed, log, meta } = through(acpAgent, 'acp')
  // Somebody else sees the question before it is answered.
  const asked = async () => {
    for await (const event of replay(audit, { follow: true }))
      if (event.type === 'lifecycle.run.status' && event.data.request) return
  }
  const [seen, err, [code]] = await Promise.all([converse(child, asked), text(child.stderr), closed])
  expect(code).toBe(3)
  expect(`${seen.join('\n')}\n`).toBe(log('stdout.1.log').toString())
  // As the shorter of two paths, which depends on where the tests run.
  const [, directory = ''] =
    /^sluice: it exited with code 3\b.*\nsluice: attempt 1 is recorded in (.+)\n$/.exec(err) ?? []
  expect(resolve(directory)).toBe(audit)
  expect(statSync(join(audit, 'stdin.1.log')).mode & 0o777).toBe(0o600)
  expect(meta().bytes).toMatchObject({ stdin: log('stdin.1.log').length })
  const told = (await recordedEvents(audit)).flatMap((event) => {
    if (event.type === 'user.message') return [`asked ${event.data.text}`]
    if (event.type === 'agent.message.final') return [`said ${event.data.text}`]
    return event.type === 'lifecycle.run.status' ? [event.data.status] : []
  })
  const order = ['asked Go.', 'awaiting_user_input', 'request_settled', 'said You chose once.']
  expect(told.filter((one) => order.includes(one)).slice(0, order.length)).toEqual(order)
})

test('bytes of any kind pass unchanged, and the client that closes stdin still reads the rest', async () => {
  const { child, closed, log } = through('process.stdin.pipe(process.stdout)')
  const sent = randomBytes(3_000_000)
  child.stdin.end(sent)
  const [got, [code]] = await Promise.all([buffer(child.stdout), closed])
  expect(code).toBe(0)
  for (const bytes of [got, log('stdin.1.log'), log('stdout.1.log')]) expect(bytes.equals(sent)).toBe(true)
})

test('a slow reader holds the agent back', async () => {
  const total = 16 * 1024 * 1024
  const { audit, child, closed } = through(
    `for (let n = 0; n < 256; n++) await new Promise((done) => process.stdout.write(Buffer.alloc(65536, 97), done))`,
  )
  const size = () => statSync(join(audit, 'stdout.1.log'), { throwIfNoEntry: false })?.size ?? 0
  // Until it stands still.
  for (let before = -1; before !== size() || before === 0; await delay(150)) before = size()
  expect(size()).toBeLessThan(total / 4)
  const [got] = await Promise.all([buffer(child.stdout), closed])
  expect([got.length, size()]).toEqual([total, total])
})

test('a reader that leaves is seen by the agent', async () => {
  const { child, closed, meta } = through(`
    process.stdout.on('error', ({ code }) => process.exit(code === 'EPIPE' ? 9 : 1))
    setInterval(() => process.stdout.write('more\\n'), 1)`)
  await once(child.stdout, 'data')
  child.stdout.destroy()
  expect((await closed)[0]).toBe(9)
  expect(meta()).toMatchObject({ exit_code: 9, complete: true, reason: null })
})

test('an agent that closes its stdout or its stdin is seen by the client', async () => {
  const { child, closed } = through(`
    fs.writeSync(1, 'last')
    fs.closeSync(1)
    await new Promise((done) => process.stdin.once('data', done))
    process.stdin.destroy()
    fs.closeSync(0)
    fs.writeSync(2, 'closed')
    setInterval(() => {}, 1000)`)
  // Its stdout ends while it still runs.
  expect(await text(child.stdout)).toBe('last')
  child.stdin.write('x')
  await once(child.stderr, 'data')
  const more = setInterval(() => child.stdin.write('more'), 5)
  await expect(once(child.stdin, 'close')).rejects.toThrow('EPIPE')
  clearInterval(more)
  child.kill()
  expect((await closed)[0]).toBe(143)
})

test('an agent that dies takes the run with it, and what it wrote last arrives', async () => {
  const { child, closed, meta } = through(`say('last words'); process.kill(process.pid, 'SIGKILL')`)
  const [out, [code]] = await Promise.all([text(child.stdout), closed])
  expect([out, code]).toEqual(['last words\n', 137])
  expect(meta()).toMatchObject({ signal: 'SIGKILL', outcome: 'failed', complete: true })
})

test('a signal is for the agent, which may end in its own way', async () => {
  const { child, closed, meta } = through(`
    process.once('SIGTERM', () => { say('bye'); process.exit(4) })
    say('ready')
    setInterval(() => {}, 1000)`)
  child.stdout.once('data', () => child.kill('SIGTERM'))
  const [out, [code]] = await Promise.all([text(child.stdout), closed])
  expect([out, code]).toEqual(['ready\nbye\n', 4])
  expect(meta()).toMatchObject({ exit_code: 4, reason: 'interrupted' })
})

test.each(['--json', '--draw', '--quiet', '--pty', '--prompt=x', '--rounds=1'])(
  'nothing else is written to stdout: %s is refused',
  async (flag) => {
    const { code, out, err } = await inside(['run', '--tee', flag, '--', 'true'])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain('--tee passes')
  },
)

test.each([
  ['after the last turn is no cancellation', 'end', 'finished'],
  ['while the agent asks is one', 'ask', 'cancelled'],
] as const)('a signal of the client %s', async (_, when, outcome) => {
  const { child, closed, audit } = through(acpAgent, 'acp')
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  send({ id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } })
  send({ id: 2, method: 'session/new', params: { cwd: '/', mcpServers: [] } })
  const prompt = [{ type: 'text', text: 'Go.' }]
  send({ id: 3, method: 'session/prompt', params: { sessionId: 's-1', prompt } })
  const told = () => readFileSync(join(audit, 'events.jsonl'), 'utf8')
  for await (const line of createInterface({ input: child.stdout })) {
    const { id } = JSON.parse(line)
    if (id === 0 && when === 'end')
      send({ id: 0, result: { outcome: { outcome: 'selected', optionId: 'once' } } })
    if (id !== (when === 'end' ? 3 : 0)) continue
    // The client may get it before it is read here.
    await expect.poll(told).toContain(when === 'end' ? '"end_signal":"end_turn"' : '"request":')
    child.kill('SIGTERM')
  }
  await closed
  expect((await recordedEvents(audit)).at(-1)).toMatchObject({ data: { outcome } })
})
