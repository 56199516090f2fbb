import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { WorkExit } from './settle.ts'

export interface SpawnOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly timeout: number | undefined
  readonly signal: AbortSignal | undefined
}

/** What a process left: how it ended, and the two ends of what it wrote. */
export interface Spawned {
  readonly exit: WorkExit
  readonly stdout: Output
  readonly stderr: Output
  /** Why it could not be started. */
  readonly error?: Error
}

export interface Output {
  readonly text: string
  readonly bytes: number
}

/**
 * Runs a worker to its end. Its output is drained and only its head and tail are kept. It has a process
 * group of its own, so that ending it ends its children too, and a grandchild that keeps the pipe open
 * delays us by a bounded grace only.
 */
export async function spawnWorker(options: SpawnOptions): Promise<Spawned> {
  const { command, args, cwd, env, timeout, signal } = options
  if (signal?.aborted) return notStarted('aborted')
  const child = spawn(command, [...args], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const stdout = ends(child.stdout)
  const stderr = ends(child.stderr)
  let ended: WorkExit['ended']
  const kill = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name)
    } catch {
      // The group is gone: that is what was wanted.
    }
  }
  let force: NodeJS.Timeout | undefined
  const end = (why: 'timeout' | 'aborted') => {
    ended ??= why
    kill('SIGTERM')
    force ??= setTimeout(() => kill('SIGKILL'), GRACE_MS)
  }
  const onAbort = () => end('aborted')
  signal?.addEventListener('abort', onAbort, { once: true })
  const clock = timeout === undefined ? undefined : setTimeout(() => end('timeout'), timeout)
  try {
    return await new Promise<Spawned>((resolve) => {
      child.once('error', (error) => {
        if (child.pid === undefined) resolve({ ...notStarted('not started'), error })
      })
      child.once('exit', (code, signalName) => {
        const done = () => {
          clearTimeout(held)
          const exit = { code, signal: signalName, ...(ended ? { ended } : {}) }
          resolve({ exit, stdout: stdout(), stderr: stderr() })
        }
        const held = setTimeout(done, GRACE_MS)
        child.once('close', done)
      })
    })
  } finally {
    clearTimeout(clock)
    clearTimeout(force)
    signal?.removeEventListener('abort', onAbort)
    child.stdout?.destroy()
    child.stderr?.destroy()
    // A child of the worker that ignores SIGTERM must not outlive a worker that we ended.
    if (ended) kill('SIGKILL')
  }
}

const GRACE_MS = 2_000
const MAX_END = 64 * 1024

function notStarted(ended: 'aborted' | 'not started'): Spawned {
  const nothing = { text: '', bytes: 0 }
  return { exit: { code: null, signal: null, ended }, stdout: nothing, stderr: nothing }
}

/** Drains a stream and keeps its first and last 64 KiB. */
function ends(stream: Readable): () => Output {
  let bytes = 0
  const first: Buffer[] = []
  let last: Buffer[] = []
  let firstSize = 0
  let lastSize = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    const head = chunk.subarray(0, MAX_END - firstSize)
    if (head.length > 0) first.push(head)
    firstSize += head.length
    const tail = chunk.subarray(head.length)
    if (tail.length === 0) return
    last.push(tail)
    lastSize += tail.length
    if (lastSize > 4 * MAX_END) {
      last = [Buffer.concat(last).subarray(-MAX_END)]
      lastSize = MAX_END
    }
  })
  stream.on('error', () => {})
  return () => {
    const decode = (pieces: Buffer[]) => new StringDecoder('utf8').end(Buffer.concat(pieces))
    const tail = Buffer.concat(last).subarray(-MAX_END)
    const gap = bytes > firstSize + tail.length ? '\n…\n' : ''
    return { text: `${decode(first)}${gap}${decode([tail])}`, bytes }
  }
}
