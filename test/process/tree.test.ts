import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, test } from 'vitest'
import { Supervised, takeOver } from '../../src/process/supervise.ts'
import { asLeader, processStat } from '../../src/process/tree.ts'

// The ways of other systems, as far as this one can take them.

const here = process.platform
const path = process.env['PATH']
const pretend = (platform: NodeJS.Platform) => Object.defineProperty(process, 'platform', { value: platform })
afterEach(() => {
  pretend(here)
  process.env['PATH'] = path
})

/** A shell that starts a shell that starts a `sleep`, and the pids of all three. */
async function family(options: object) {
  const inner = 'sleep 60 & echo $!; wait'
  const child = spawn('sh', ['-c', `sh -c '${inner}' & echo $!; wait`], {
    ...options,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const pids = [child.pid!]
  for await (const line of createInterface(child.stdout!)) if (pids.push(Number(line)) === 3) break
  return { child, pids }
}

/** Asks a child to end, and waits until it has. */
async function endChild(child: ChildProcess, killGrace: number) {
  const supervised = new Supervised(takeOver(child), [], { killGrace, pipeGrace: 2000 })
  supervised.end()
  return supervised.over
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return processStat(pid)?.zombie !== true
  } catch {
    return false
  }
}

describe.skipIf(here === 'win32')('a child that is asked to end', () => {
  test('finds the descendants of a child by ps where there is no /proc, as on macOS', async () => {
    pretend('darwin')
    const { child, pids } = await family({})
    expect(pids.map(isRunning)).toEqual([true, true, true])
    await endChild(child, 5000)
    await expect.poll(() => pids.map(isRunning)).toEqual([false, false, false])
  })

  test('on Windows has taskkill end the tree, once, and never by the pid of a child that is gone', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-taskkill-'))
    // Ends the whole group, as taskkill ends a tree.
    const taskkill = `#!/bin/sh\necho "$@" >> '${dir}/calls'\nkill -9 "-$2"\n`
    writeFileSync(join(dir, 'taskkill'), taskkill, { mode: 0o755 })
    process.env['PATH'] = [dir, path].join(delimiter)
    const { child, pids } = await family({ detached: true })
    pretend('win32')
    expect(asLeader()).toEqual({ detached: false, windowsHide: true })
    await endChild(child, 5000)
    await endChild(child, 5000)
    expect(readFileSync(join(dir, 'calls'), 'utf8')).toBe(`/pid ${child.pid} /t /f\n`)
    await expect.poll(() => pids.map(isRunning)).toEqual([false, false, false])
  })
})

test('a child that has ended is left alone', async () => {
  const child = spawn(process.execPath, ['-e', '0'])
  await once(child, 'exit')
  await endChild(child, 0)
})
