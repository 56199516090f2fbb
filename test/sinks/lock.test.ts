import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isLocked, takeLock } from '../../src/sinks/lock.ts'

const fresh = () => join(mkdtempSync(join(tmpdir(), 'sluice-lock-')), 'lock')

test('is held by one, refused to a second, and free after release', () => {
  const path = fresh()
  const lock = takeLock(path)
  expect(isLocked(path)).toBe(true)
  expect(() => takeLock(path)).toThrow(expect.objectContaining({ code: 'JOURNAL_LOCKED' }))
  lock.release()
  expect(existsSync(path)).toBe(false)
  takeLock(path).release()
})

test('is taken over from a process that is dead', async () => {
  const path = fresh()
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'])
  await once(child, 'spawn')
  writeFileSync(path, JSON.stringify({ token: 't', pid: child.pid, host: hostname(), started: null }))
  expect(() => takeLock(path)).toThrow(`process ${child.pid}`)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const lock = takeLock(path)
  expect(JSON.parse(readFileSync(path, 'utf8')).pid).toBe(process.pid)
  lock.release()
})

test.runIf(process.platform === 'linux')(
  'is taken over when the number now belongs to another process',
  () => {
    const path = fresh()
    writeFileSync(path, JSON.stringify({ token: 't', pid: process.pid, host: hostname(), started: '1' }))
    takeLock(path).release()
  },
)

test('is never taken from another host, nor from a file it cannot read', () => {
  const path = fresh()
  writeFileSync(path, JSON.stringify({ token: 't', pid: 999_999_999, host: 'elsewhere', started: null }))
  expect(() => takeLock(path)).toThrow('"elsewhere"')
  writeFileSync(path, 'not ours')
  expect(() => takeLock(path)).toThrow('something unknown')
})

test('of many processes that find it stale, exactly one wins', async () => {
  const path = fresh()
  for (let round = 0; round < 4; round++) {
    writeFileSync(
      path,
      JSON.stringify({ token: `dead-${round}`, pid: 999_999_999, host: hostname(), started: null }),
    )
    // Each waits for the starting shot on stdin, so that all of them look at once.
    const script = `
      import { takeLock } from ${JSON.stringify(new URL('../../src/sinks/lock.ts', import.meta.url).pathname)}
      process.stdout.write('ready')
      process.stdin.once('data', () => {
        try { takeLock(${JSON.stringify(path)}); process.stdout.write('won') } catch (error) { process.stdout.write(error.code) }
        process.stdin.on('end', () => process.exit())
      })`
    const racers = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script]),
    )
    const said = racers.map(() => '')
    racers.forEach((racer, i) => void racer.stdout.on('data', (bytes) => (said[i] += bytes)))
    await Promise.all(racers.map((racer) => once(racer.stdout, 'data')))
    for (const racer of racers) racer.stdin.write('go')
    await Promise.all(racers.map((racer) => once(racer.stdout, 'data')))
    for (const racer of racers) racer.stdin.end()
    await Promise.all(racers.map((racer) => once(racer, 'exit')))
    expect(
      said.filter((text) => text === 'readywon'),
      said.join(' '),
    ).toHaveLength(1)
    expect(said.filter((text) => text === 'readyJOURNAL_LOCKED')).toHaveLength(3)
    expect(readdirSync(join(path, '..'))).toEqual(['lock'])
  }
})
