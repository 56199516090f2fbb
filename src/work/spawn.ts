import fs from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../base/fault.ts'
import { readBlock, withPlain } from '../disk/plain-file.ts'
import { type EngineName, engineOf } from '../engines/engine-name.ts'
import { isEvent } from '../events/event.ts'
import { fileNames } from '../run/attempt-logs.ts'
import { startRun } from '../run/run.ts'
import type { Run, RunEnd } from '../run/run-options.ts'
import { openWorkAudit, type WorkAuditPlace } from './audit.ts'
import type { WorkExit } from './settle.ts'

export interface SpawnOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly timeout: number | undefined
  readonly signal: AbortSignal | undefined
  readonly runId: string
  /** The engine that reads the output, if it is an agent. */
  readonly engine: string | undefined
  /** Where the run is recorded; false to skip that. */
  readonly audit: string | false
  /** How often it may be continued with what `askAgain` says; undefined if there is nothing to ask. */
  readonly rounds: number
  readonly askAgain: (said: Spawned['said']) => Promise<string | undefined>
}

export interface Spawned {
  readonly exit: WorkExit
  /** Why it could not be started. */
  readonly notStarted?: string
  readonly stdout: Output
  readonly stderr: Output
  /** What went wrong, in one sentence: nothing is known of a program that says nothing about its end. */
  readonly problem?: string | undefined
  /** The last payload in the messages of the agent, if it is an agent. */
  readonly said?: { readonly payload: unknown }
  readonly place: WorkAuditPlace | undefined
}

/** The start and the end of the output, and its size. */
interface Output {
  readonly text: string
  readonly bytes: number
}

/** Runs a worker to its end and records it; of its output, start and end are read again. */
export async function spawnWorker(options: SpawnOptions): Promise<Spawned> {
  const recorded = options.audit !== false
  const dir = options.audit || (await mkdtemp(join(tmpdir(), 'work-run-')))
  try {
    const { place, running: first, said: answer } = await attempt(dir, options)
    const stopped = options.signal?.aborted ? 'aborted' : 'not started'
    if (!first) return { ...nothing(stopped), place: recorded ? place : undefined }
    const { running, said, end } = await asked(first, answer, options)
    const names = fileNames(running.attempt)
    return {
      exit: Fault.is(end) ? { code: null, signal: null, ended: 'not started' } : exitOf(end),
      ...(Fault.is(end)
        ? { notStarted: end.message }
        : { problem: end.outcome === 'unknown' ? undefined : (end.problem ?? undefined) }),
      stdout: ends(join(place.dir, names.stdout)),
      stderr: ends(join(place.dir, names.stderr)),
      ...(said ? { said } : {}),
      place: recorded ? place : undefined,
    }
  } finally {
    if (!recorded) await rm(dir, { recursive: true, force: true })
  }
}

/** Asks for a result that cannot be used again, in the session of the agent. */
async function asked(first: Run, answer: Spawned['said'], { rounds, askAgain }: SpawnOptions) {
  let running = first
  let said = answer
  let end = await running.end.catch(cannotStart)
  for (let round = 0; round < rounds && !Fault.is(end) && end.ok; round++) {
    const text = await askAgain(said)
    const next = text === undefined ? undefined : running.reply(text)
    // It cannot be continued: what it left is the result.
    if (!next || next.attempt === 0) break
    said = (await listen(next, true)) ?? said
    running = next
    end = await next.end
  }
  return { running, said, end }
}

/**
 * Runs it once. Right after the recorder of an earlier attempt was killed, it is not yet known whether its
 * worker is still writing: then nothing is started, and the caller can try again a moment later.
 */
async function attempt(
  dir: string,
  options: SpawnOptions,
): Promise<{ place: WorkAuditPlace; running?: Run; said?: Spawned['said'] }> {
  for (let turn = 1; ; turn++) {
    const { place, running } = await begin(dir, options)
    if (!running) return { place }
    try {
      const said = await listen(running, options.engine !== undefined)
      return { place, running, said }
    } catch (error) {
      const held = Fault.is(error) && error.code === 'JOURNAL_LOCKED'
      if (!held || turn === MAX_WAITS || options.signal?.aborted) throw error
      await running.end.catch(() => {})
      await delay(250)
    }
  }
}

/** Two seconds: a worker with unknown pid counts as gone when its logs have not changed for one. */
const MAX_WAITS = 9

/** Starts in a separate directory: another process may run the same order in the same place. */
async function begin(dir: string, options: SpawnOptions): Promise<{ place: WorkAuditPlace; running?: Run }> {
  const { command, args, cwd, env, timeout, signal, runId } = options
  const engine = engineOf((options.engine ?? 'auto') as EngineName) // cast: it is checked there
  for (let n = 1; ; n++) {
    const place = await openWorkAudit(n === 1 ? dir : `${dir}-${n}`)
    if (signal?.aborted) return { place }
    try {
      const recorded = { runId, engine, audit: place.dir }
      return {
        place,
        running: startRun({ command, args, cwd, env, timeout, signal, killGrace: 2000, ...recorded }),
      }
    } catch (error) {
      if (!Fault.is(error) || error.code !== 'JOURNAL_LOCKED' || n === MAX_PLACES) throw error
    }
  }
}

const MAX_PLACES = 100

/** Reads the run to its end, and returns the last payload of the agent. */
async function listen(running: Run, isAgent: boolean): Promise<Spawned['said']> {
  let said: { payload: unknown } | undefined
  try {
    for await (const event of running) {
      if (isAgent && isEvent(event, 'agent.message.final') && event.data.structured_payload !== undefined)
        said = { payload: event.data.structured_payload }
    }
  } catch (error) {
    cannotStart(error)
  }
  return said
}

/** If a worker cannot be started, a human must decide; any other error is a failure of ours. */
function cannotStart(error: unknown): Fault {
  if (!Fault.is(error)) throw new Fault('AUDIT_FAILED', 'the run cannot be recorded', { cause: error })
  if (error.code !== 'SPAWN_FAILED') throw error
  return error
}

function exitOf({ exitCode, signal, reason }: RunEnd): WorkExit {
  const ended = reason === null ? undefined : reason === 'timeout' ? 'timeout' : 'aborted'
  return { code: exitCode, signal, ...(ended ? { ended } : {}) }
}

function nothing(ended: 'aborted' | 'not started'): Omit<Spawned, 'place'> {
  const silence = { text: '', bytes: 0 }
  return { exit: { code: null, signal: null, ended }, stdout: silence, stderr: silence }
}

const MAX_END = 64 * 1024

/** The first and last 64 KiB of a log. */
function ends(path: string): Output {
  try {
    return withPlain(path, undefined, (fd) => {
      const { size } = fs.fstatSync(fd)
      const from = Math.max(MAX_END, size - MAX_END)
      const head = readBlock(fd, 0, Math.min(size, MAX_END)).toString()
      const tail = readBlock(fd, from, Math.max(0, size - from)).toString()
      return { text: size > 2 * MAX_END ? `${head}\n…\n${tail}` : head + tail, bytes: size }
    })
  } catch {
    return { text: '', bytes: 0 }
  }
}
