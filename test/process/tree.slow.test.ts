import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ProcessTree, processesWith } from '../../src/process/tree.ts'

// Marks are read from the environments in /proc, which only Linux has.
describe.skipIf(process.platform !== 'linux')('a kill, on Linux', () => {
  const mark = `TREE_TEST=${process.pid}`
  /** Starts a shell, and waits for its first line. */
  async function shell(script: string) {
    const env = { ...process.env, TREE_TEST: String(process.pid) }
    const child = spawn('sh', ['-c', script], { env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    await once(child.stdout!, 'data')
    return { child, tree: new ProcessTree(child.pid!) }
  }
  afterEach(() => {
    vi.restoreAllMocks()
    for (const { pid } of processesWith(mark)) process.kill(pid, 'SIGKILL')
  })

  test('ends a child in a session of its own that was forked between the look and the kill', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-tree-'))
    const fork = `echo begun; until [ -e '${dir}/go' ]; do sleep 0.01; done; setsid sleep 60 & echo $! > '${dir}/pid'; wait`
    const { child, tree } = await shell(`setsid sh -c "${fork.replaceAll('$', '\\$')}" & wait`)
    const ended = once(child, 'exit')
    const real = process.kill
    // What is about to be signalled forks before it is, and each signal has its effect before the next look.
    vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
      writeFileSync(join(dir, 'go'), '')
      execFileSync('sh', ['-c', `until [ -s '${dir}/pid' ]; do sleep 0.01; done`])
      real(pid, signal)
      execFileSync('sleep', ['0.05'])
      return true
    })
    tree.signal('SIGKILL', false)
    await ended
    await expect.poll(() => processesWith(mark)).toEqual([])
  })

  test('ends a tree that goes on forking, each child in a session of its own, as those of those are', async () => {
    for (let round = 0; round < 3; round++) {
      const fork = 'while :; do setsid sh -c "setsid sleep 60 & wait" & sleep 0.001; done'
      const { child, tree } = await shell(
        `setsid sh -c '${fork}' & setsid sh -c '${fork}' & echo begun; wait`,
      )
      const ended = once(child, 'exit')
      await expect.poll(() => processesWith(mark).length).toBeGreaterThan(12)
      tree.signal('SIGKILL', false)
      await ended
      await expect.poll(() => processesWith(mark)).toEqual([])
    }
  })
})
