import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { replay } from '../../src/run/replay.ts'
import { run } from '../../src/run/run.ts'
import { agent, codexLines, ran, types, workspace } from './agent.ts'

afterEach(() => void vi.doUnmock('@lydell/node-pty'))

test('runs on a real pseudo-terminal, and reads the records from there', async () => {
  const { cwd, audit } = workspace()
  const program = agent(
    cwd,
    "for (const line of lines) say(line); say(process.stdout.isTTY + ' ' + process.stdout.columns); process.exitCode = 3",
  )
  const { events, end } = await ran({ ...program, cwd, audit, pty: { cols: 100 } })
  const log = readFileSync(join(audit, 'pty-output.1.log'), 'utf8')
  expect(log).toBe(`${[...codexLines, 'true 100'].join('\r\n')}\r\n`)
  expect(types(events)).toContain('agent.message.final')
  expect(events.find((event) => event.raw_ref)?.raw_ref?.stream).toBe('pty')
  expect(end).toMatchObject({ exitCode: 3, signal: null })
  expect(JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))).toMatchObject({
    mode: 'pty',
    bytes: { pty: Buffer.byteLength(log) },
  })
  let again = ''
  for await (const event of replay(audit)) again += `${JSON.stringify(event)}\n`
  expect(again).toBe(readFileSync(join(audit, 'events.jsonl'), 'utf8'))
})

test('keeps the last bytes of an agent that writes much and leaves', async () => {
  for (const size of [10_000, 300_000]) {
    const { cwd, audit } = workspace()
    const text = 'x'.repeat(size)
    writeFileSync(join(cwd, 'said'), `${text}\n`)
    await ran({ command: 'cat', args: ['said'], cwd, audit, pty: true })
    expect(readFileSync(join(audit, 'pty-output.1.log'), 'utf8')).toBe(`${text}\r\n`)
  }
})

test('without the package it says what to install', async () => {
  vi.doMock('@lydell/node-pty', () => {
    throw new Error('not here')
  })
  const { cwd, audit } = workspace()
  await expect(ran({ command: 'true', cwd, audit, pty: true })).rejects.toMatchObject({
    code: 'PTY_MISSING',
    message: expect.stringContaining('npm install @lydell/node-pty'),
  })
})

test('keeps what is typed before the terminal is there', async () => {
  const { cwd, audit } = workspace()
  const live = run({
    command: 'sh',
    args: ['-c', 'read line; echo "got $line"'],
    cwd,
    audit,
    pty: true,
    fsDiff: false,
  })
  live.type('hel')
  live.type('lo\r')
  live.resume()
  expect(await live.end).toMatchObject({ exitCode: 0 })
  expect(readFileSync(join(audit, 'pty-output.1.log'), 'utf8')).toContain('got hello')
})

test('a command or a working directory that is not there is a fault, as on pipes', async () => {
  const { cwd, audit } = workspace()
  const nowhere = join(cwd, 'nowhere')
  for (const pty of [false, true, { pipes: true }]) {
    await expect(ran({ command: 'true', cwd: nowhere, audit, pty })).rejects.toMatchObject({
      code: 'SPAWN_FAILED',
      message: expect.stringContaining('nowhere" does not exist'),
    })
    await expect(ran({ command: 'no-such-agent', cwd, audit, pty })).rejects.toMatchObject({
      code: 'SPAWN_FAILED',
    })
    expect(existsSync(audit)).toBe(false)
  }
})

test('a command with a path is looked for from the working directory, one without a PATH nowhere', async () => {
  const { cwd, audit } = workspace()
  writeFileSync(join(cwd, 'agent.sh'), '#!/bin/sh\necho ran\n', { mode: 0o755 })
  const { end } = await ran({ command: './agent.sh', cwd, audit, pty: true })
  expect(end.exitCode).toBe(0)
  await expect(ran({ command: 'agent.sh', cwd, audit, pty: true, env: {} })).rejects.toMatchObject({
    code: 'SPAWN_FAILED',
  })
})

test.each([
  [10, 'SIGUSR1'],
  [40, 'signal 40'],
])('signal %i is told by its name, or by its number if it has none', async (number, signal) => {
  const { cwd, audit } = workspace()
  const { end } = await ran({ command: 'sh', args: ['-c', `kill -${number} $$`], cwd, audit, pty: true })
  expect(end).toMatchObject({ exitCode: null, signal })
})

test('a question that only the terminal has comes within a second, and before its turn waits', async () => {
  const { cwd, audit } = workspace()
  const say = (record: object) => `console.log(${JSON.stringify(JSON.stringify(record))});`
  const ask = (id: string, text: string) =>
    `tty.write(${JSON.stringify(`${JSON.stringify({ type: 'item.completed', item: { id, type: 'agent_message', text } })}\r\n`)});`
  const turn = (id: string, text: string) =>
    `${say({ type: 'turn.started' })} await sleep(100); ${ask(id, text)} await sleep(50); ${say({ type: 'turn.completed', usage: {} })} await sleep(1500);`
  const program = agent(
    cwd,
    `const tty = fs.createWriteStream('/dev/tty');
          console.error('Reading prompt from stdin...');
     ${say({ type: 'thread.started', thread_id: 't' })} ${turn('a', 'Which file?')} ${turn('b', 'Sure?')} tty.end()`,
  )
  const { events } = await ran({ ...program, cwd, audit, pty: { pipes: true } })
  const told = events.flatMap(({ type, data }) =>
    type === 'agent.message.final' ? [(data as { text: string }).text] : isWaiting(data) ? ['?'] : [],
  )
  expect(told).toEqual(['Which file?', '?', 'Sure?', '?'])
  const at = (text: string) =>
    Date.parse(events.find(({ data }) => (data as { text?: string }).text === text)!.ts)
  // Each turn takes more than a second and a half.
  expect(at('Sure?') - at('Which file?')).toBeGreaterThan(500)
  let again = ''
  for await (const event of replay(audit)) again += `${JSON.stringify(event)}\n`
  expect(again).toBe(readFileSync(join(audit, 'events.jsonl'), 'utf8'))
}, 20_000)

const isWaiting = (data: unknown) => (data as { status?: string }).status === 'awaiting_user_input'
