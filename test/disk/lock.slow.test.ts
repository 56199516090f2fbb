import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { isLocked, takeLock } from '../../src/disk/lock.ts'
import { isSameProcess } from '../../src/process/tree.ts'
import { built } from '../built.ts'

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

test('a lock that cannot be written again leaves no draft of it', () => {
  const path = fresh()
  const lock = takeLock(path)
  rmSync(path)
  mkdirSync(join(path, 'in the way'), { recursive: true })
  expect(() => lock.names('run')).toThrow()
  expect(readdirSync(dirname(path))).toEqual(['lock'])
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
  for (let round = 0; round < 2; round++) {
    writeFileSync(
      path,
      JSON.stringify({ token: `dead-${round}`, pid: 999_999_999, host: hostname(), started: null }),
    )
    // Each waits for the starting shot on stdin, so that all of them look at once.
    const script = `
      import { takeLock } from ${JSON.stringify(built('src/disk/lock.ts'))}
      process.stdout.write('ready')
      process.stdin.once('data', () => {
        try { takeLock(${JSON.stringify(path)}); process.stdout.write('won') } catch (error) { process.stdout.write(error.code) }
        process.stdin.on('end', () => process.exit())
      })`
    const racers = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', script]),
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

test('the pid of a process of another user is alive', () => {
  vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('EPERM'), { code: 'EPERM' })
  })
  expect(isSameProcess(process.pid, null)).toBe(true)
  vi.restoreAllMocks()
})

test('a place that is not there is a fault that says so', () => {
  const path = fresh()
  expect(() => takeLock(join(path, 'nowhere'))).toThrow(expect.objectContaining({ code: 'JOURNAL_FAILED' }))
})

test.each([
  ['a directory', mkdirSync],
  ['a FIFO', (path: string) => execFileSync('mkfifo', [path])],
  ['a link to nowhere', (path: string) => symlinkSync('nowhere', path)],
])('%s is no lock, but in the way, and is left there', (_what, put) => {
  const path = fresh()
  put(path)
  expect(isLocked(path)).toBe(false)
  expect(() => takeLock(path)).toThrow(
    expect.objectContaining({
      code: 'JOURNAL_LOCKED',
      message: expect.stringContaining('something unknown'),
    }),
  )
  expect(readdirSync(dirname(path))).toEqual(['lock'])
})

test('a lock that was replaced by a directory is let go without an accident', () => {
  const path = fresh()
  const lock = takeLock(path)
  rmSync(path)
  mkdirSync(path)
  lock.release()
  expect(existsSync(path)).toBe(true)
})

test('a file that is too large for a lock is not ours', () => {
  const path = fresh()
  writeFileSync(path, JSON.stringify({ token: 't', pid: 999_999_999, host: hostname(), x: 'x'.repeat(5000) }))
  expect(() => takeLock(path)).toThrow('something unknown')
  expect(isLocked(path)).toBe(true)
})

test('a lock that goes away while it is looked at is free', () => {
  const path = fresh()
  const first = takeLock(path)
  const real = fs.linkSync
  vi.spyOn(fs, 'linkSync').mockImplementationOnce((from, to) => {
    try {
      real(from, to)
    } finally {
      first.release()
    }
  })
  const second = takeLock(path)
  vi.restoreAllMocks()
  expect(() => takeLock(path)).toThrow(`process ${process.pid} on "${hostname()}" writes here; `)
  second.names('run-7')
  expect(() => takeLock(path)).toThrow(
    `process ${process.pid} on "${hostname()}" writes the run "run-7" here; `,
  )
  second.release()
})

test('a stale lock that another has replaced meanwhile is left alone', () => {
  const path = fresh()
  const stale = JSON.stringify({ token: 'dead', pid: 999_999_999, host: hostname() })
  const other = JSON.stringify({ token: 'other', pid: process.pid, host: hostname(), started: null })
  writeFileSync(path, stale)
  const real = fs.linkSync
  vi.spyOn(fs, 'linkSync').mockImplementation((from, to) => {
    real(from, to)
    // The right to replace is taken: now the other one was quicker.
    if (String(to).endsWith('.after-dead')) writeFileSync(path, other)
  })
  expect(() => takeLock(path)).toThrow(`process ${process.pid}`)
  vi.restoreAllMocks()
  expect(readFileSync(path, 'utf8')).toBe(other)
  expect(readdirSync(dirname(path))).toEqual(['lock'])
})

test('does not dig without end in locks whose takers all died', () => {
  const path = fresh()
  let at = path
  for (let depth = 0; depth < 12; depth++) {
    writeFileSync(at, JSON.stringify({ token: `t${depth}`, pid: 999_999_999, host: hostname() }))
    at += `.after-t${depth}`
  }
  expect(() => takeLock(path)).toThrow('remove')
})
