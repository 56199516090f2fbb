import { once } from 'node:events'
import type { PassThrough, Transform } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test, vi } from 'vitest'
import { progress } from '../../src/cli/draw/status-line.ts'
import { standIn } from './inside.ts'

const MB = 1024 * 1024
let now = 0

function shownOn(stderr: PassThrough, size?: number): Transform {
  vi.spyOn(process, 'stderr', 'get').mockReturnValue(stderr as unknown as typeof process.stderr)
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  vi.stubEnv('TERM', 'xterm')
  return progress(size)
}

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

async function pass(through: Transform, ...sizes: number[]): Promise<void> {
  through.resume()
  for (const size of sizes) {
    now += 150
    if (!through.write(Buffer.alloc(size))) await once(through, 'drain')
  }
}

test('tells on a terminal how far a long file is, not too often, and wipes the line in the end', async () => {
  const stderr = standIn({ tty: true })
  const through = shownOn(stderr, 40 * MB)
  await pass(through, 10 * MB, 10 * MB, 10 * MB, 10 * MB)
  through.end()
  await once(through, 'close')
  const wiped = '\r\u001b[K'
  expect(await text(stderr.end())).toBe(`${wiped}50 % of 42 MB${wiped}100 % of 42 MB${wiped}`)
  expect(process.listenerCount('SIGINT')).toBe(0)
})

test('wipes the line before Ctrl-C ends it', async () => {
  const stderr = standIn({ tty: true })
  const through = shownOn(stderr, 40 * MB)
  await pass(through, MB, MB)
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  process.emit('SIGINT', 'SIGINT')
  expect(kill).toHaveBeenCalledWith(process.pid, 'SIGINT')
  expect(String(stderr.read())).toMatch(/ MB\r\u001b\[K$/)
  through.destroy()
})

test.each([
  ['a short file', { tty: true }, 31 * MB],
  ['an input without a size', { tty: true }, undefined],
  ['a pipe', {}, 40 * MB],
])('says nothing for %s', async (_what, options, size) => {
  const stderr = standIn(options)
  const through = shownOn(stderr, size)
  await pass(through, MB, MB, MB)
  through.end()
  await once(through, 'close')
  expect(stderr.read()).toBe(null)
})

test('says nothing on a terminal that cannot wipe a line', async () => {
  const stderr = standIn({ tty: true })
  shownOn(stderr)
  vi.stubEnv('TERM', 'dumb')
  await pass(progress(40 * MB), MB, MB, MB)
  expect(stderr.read()).toBe(null)
})
