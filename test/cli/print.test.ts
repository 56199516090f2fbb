import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { output } from '../../src/cli/print.ts'
import { agent, workspace } from '../run/agent.ts'
import { inside, standIn } from './inside.ts'

afterEach(() => void vi.restoreAllMocks())

const log = join('fixtures', 'codex/02-reasoning.pipe', 'stdout.log')
const broken = (code: string) => Object.assign(new Error(code), { code })

/** A stdout whose reader leaves after the first bytes, as `head` does. */
function impatient() {
  const stdout = standIn()
  return stdout.once('data', () => stdout.emit('error', broken('EPIPE')))
}

test.each([
  ['values', ['values', '--lines', log]],
  ['events', ['events', log]],
  ['chat', ['chat', log]],
  ['replay', ['replay', log]],
])('%s stops with 0 when its reader has left', async (_name, args) => {
  const all = await inside(args)
  const some = await inside(args, { stdout: impatient() })
  expect([some.code, some.err]).toEqual([0, ''])
  expect(some.out.length).toBeLessThan(all.out.length)
  expect(all.out.startsWith(some.out.slice(0, some.out.indexOf('"ts"')))).toBe(true)
})

test('run ends the agent when its reader has left', async () => {
  const { cwd, audit } = workspace()
  const program = agent(cwd, 'for (;;) { say(lines[2]); await sleep(5) }')
  const args = ['run', '--engine', 'codex', '--no-fs-diff', '--cwd', cwd, '--audit', audit]
  const { code, err } = await inside([...args, '--', program.command, ...program.args!], {
    stdout: impatient(),
  })
  expect([code, err]).toEqual([0, ''])
  const meta = () => JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8'))
  await expect.poll(meta).toMatchObject({ reason: 'abandoned', signal: 'SIGTERM' })
})

test('waits for a slow reader, and for one that leaves meanwhile', async () => {
  const stdout = standIn()
  vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as unknown as typeof process.stdout)
  const write = output()
  const full = 'x'.repeat(stdout.writableHighWaterMark)
  let written = false
  const waiting = write(full).then((open) => {
    written = true
    return open
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(written).toBe(false)
  stdout.resume()
  expect(await waiting).toBe(true)
  stdout.pause()
  const left = write(full)
  stdout.emit('error', broken('EPIPE'))
  expect(await left).toBe(false)
  expect(await write('more')).toBe(false)
})

test('a stdout that breaks in another way is not kept quiet', async () => {
  const stdout = standIn()
  vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as unknown as typeof process.stdout)
  output()
  expect(() => stdout.emit('error', broken('EIO'))).toThrow('EIO')
})

test('what is no Fault is not taken for bad usage', async () => {
  const stdout = standIn()
  stdout.write = () => {
    throw new Error('a mistake of ours')
  }
  await expect(inside(['engines'], { stdout })).rejects.toThrow('a mistake of ours')
})
