import { spawn } from 'node:child_process'
import fs, { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { record, recordHere } from '../../src/process/log-writer.ts'
import { bothPipes } from '../../src/process/recorder.ts'
import { ran, workspace } from '../run/agent.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/** The recorder of stdout, on the pipe that a run would give it. */
async function recorded(path: string) {
  const [stdout, stderr] = await bothPipes(true, (channel, pipe) =>
    record(channel === 'stdout' ? path : fresh(), () => {}, pipe),
  )
  stderr.release()
  return stdout
}

const fresh = () => join(mkdtempSync(join(tmpdir(), 'sluice-record-')), 'log')

test('ends when the last writer has closed the pipe, with every byte in the file', async () => {
  const path = fresh()
  const recorder = await recorded(path)
  const child = spawn('sh', ['-c', 'head -c 3000000 /dev/zero; (sleep 0.2; echo late) &'], {
    stdio: ['ignore', recorder.stdio, 'inherit'],
  })
  await new Promise((resolve) => child.once('spawn', resolve))
  recorder.release()
  await recorder.ended
  expect(readFileSync(path).length).toBe(3_000_005)
})

test('never writes into a file that is already there, and leaves no descriptor', async () => {
  const path = fresh()
  fs.writeFileSync(path, 'precious')
  const close = vi.spyOn(fs, 'closeSync')
  await expect(recorded(path)).rejects.toThrow('EEXIST')
  // Both ends of both pipes.
  expect(close).toHaveBeenCalledTimes(4)
})

test('where there is no cat, the bytes go through this process', async () => {
  vi.stubEnv('PATH', '/nowhere')
  const { cwd, audit } = workspace()
  const { end } = await ran({
    command: process.execPath,
    args: ['-e', 'process.stdout.write("x".repeat(300000)); process.stderr.write("err")'],
    cwd,
    audit,
  })
  expect(end.exitCode).toBe(0)
  expect(readFileSync(join(audit, 'stdout.1.log'), 'utf8')).toBe('x'.repeat(300_000))
  expect(readFileSync(join(audit, 'stderr.1.log'), 'utf8')).toBe('err')
  expect(JSON.parse(readFileSync(join(audit, 'meta.1.json'), 'utf8')).recorders).toEqual([])
})

test('a disk that fails is a fault', async () => {
  const path = fresh()
  const recorder = recordHere(path, openSync(path, 'w'), () => {})
  vi.spyOn(fs, 'writeSync').mockImplementation(() => {
    throw Object.assign(new Error('full'), { code: 'ENOSPC' })
  })
  recorder.write(Buffer.from('x'))
  await expect(recorder.ended).rejects.toMatchObject({
    code: 'RECORD_FAILED',
    message: expect.stringContaining('disk is full'),
  })
})

test.runIf(fs.existsSync('/dev/full'))(
  'a recorder process whose disk is full ends the run with a fault',
  async () => {
    const path = fresh()
    const real = fs.openSync
    vi.spyOn(fs, 'openSync').mockImplementation((file, ...rest) =>
      file === path ? real('/dev/full', 'w') : real(file, ...rest),
    )
    const recorder = await recorded(path)
    const child = spawn('sh', ['-c', 'echo something'], { stdio: ['ignore', recorder.stdio, 'ignore'] })
    await new Promise((resolve) => child.once('spawn', resolve))
    recorder.release()
    await expect(recorder.ended).rejects.toMatchObject({
      code: 'RECORD_FAILED',
      message: expect.stringContaining('(ENOSPC): the disk is full'),
    })
  },
)

test('a recorder process that was killed is a fault, and its log stays as it is', async () => {
  const path = fresh()
  const recorder = await recorded(path)
  const child = spawn('sh', ['-c', 'echo something; read wait'], {
    stdio: ['pipe', recorder.stdio, 'ignore'],
  })
  recorder.release()
  await vi.waitFor(() => expect(readFileSync(path, 'utf8')).toBe('something\n'))
  process.kill(recorder.pid!, 'SIGKILL')
  await expect(recorder.ended).rejects.toMatchObject({
    code: 'RECORD_FAILED',
    message: expect.stringContaining('its recorder ended with SIGKILL'),
  })
  expect(readFileSync(path, 'utf8')).toBe('something\n')
  child.stdin!.end()
})

test('where there is no mkfifo, the recorder has an ordinary pipe', async () => {
  const bin = mkdtempSync(join(tmpdir(), 'sluice-record-'))
  fs.symlinkSync('/bin/cat', join(bin, 'cat'))
  vi.stubEnv('PATH', bin)
  const path = fresh()
  const recorder = await recorded(path)
  expect(recorder.pid).toBeTypeOf('number')
  const child = spawn('/bin/sh', ['-c', 'echo something'], { stdio: ['ignore', recorder.stdio, 'ignore'] })
  await new Promise((resolve) => child.once('spawn', resolve))
  recorder.release()
  await recorder.ended
  expect(readFileSync(path, 'utf8')).toBe('something\n')
})

test('where no pipe can be opened, there is an ordinary one, and no name is left', async () => {
  const before = fs.readdirSync(tmpdir()).filter((name) => /^sluice-[0-9a-f-]{36}$/.test(name))
  const real = fs.openSync
  vi.spyOn(fs, 'openSync').mockImplementation((file, ...rest) => {
    if (/sluice-[0-9a-f-]{36}$/.test(String(file))) throw new Error('no pipes today')
    return real(file, ...rest)
  })
  const recorder = await recorded(fresh())
  vi.restoreAllMocks()
  recorder.release()
  await recorder.ended
  expect(fs.readdirSync(tmpdir()).filter((name) => /^sluice-[0-9a-f-]{36}$/.test(name))).toEqual(before)
})

test('a recorder in this process can be stopped twice, and takes nothing afterwards', async () => {
  const path = fresh()
  const recorder = recordHere(path, openSync(path, 'w'), () => {})
  recorder.write(Buffer.from('kept'))
  recorder.stop()
  recorder.stop()
  recorder.write(Buffer.from('late'))
  await recorder.ended
  expect(readFileSync(path, 'utf8')).toBe('kept')
})
