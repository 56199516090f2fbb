import fs from 'node:fs'
import { basename, join } from 'node:path'
import { Fault, quote } from '../base/fault.ts'
import { cannotRead, codeOf } from '../base/system-error-code.ts'
import { openPlain } from '../disk/plain-file.ts'
import type { Channel } from '../text/chunk.ts'

/** The files of one attempt, as paths; only those that exist. */
export interface Attempt {
  readonly number: number
  readonly logs: Readonly<Partial<Record<Channel, string>>>
  readonly chunks?: string
  readonly meta?: string
  readonly fsDiff?: string
  readonly diff?: string
  /** The real path of a directory that must contain every file, if there is one. */
  readonly within?: string
  /** It is a single log: other files in its directory do not belong to it. */
  readonly alone?: true
}

/** A single log as an attempt. Its name says which channel it is; else it is stdout. */
export function singleLog(path: string, name: string = basename(path)): Attempt {
  const channel = channels.find((known) => name.startsWith(known)) ?? 'stdout'
  return { number: 1, logs: { [channel]: path }, alone: true }
}

/** What was sent comes first: without a chunk log it is known before what the agent says to it. */
export const channels = ['stdin', 'stdout', 'stderr', 'pty'] as const satisfies readonly Channel[]
/** The channels that a process writes. */
export const outputs = ['stdout', 'stderr', 'pty'] as const satisfies readonly Channel[]

/** In the order in which they are shown: what the agent wrote comes first. */
export const shownChannels = [...outputs, 'stdin'] as const

export function fileNames(attempt: number) {
  return {
    stdout: `stdout.${attempt}.log`,
    stderr: `stderr.${attempt}.log`,
    pty: `pty-output.${attempt}.log`,
    stdin: `stdin.${attempt}.log`,
    chunks: `chunks.${attempt}.jsonl`,
    meta: `meta.${attempt}.json`,
    fsDiff: `fs-diff.${attempt}.json`,
    diff: `diff.${attempt}.patch`,
  } as const
}

/** What a name without its number is: `stdout.log` is `stdout`. */
const kinds = new Map(Object.entries(fileNames(1)).map(([kind, name]) => [name.replace('.1', ''), kind]))

/**
 * Finds the attempts in an audit directory, in order. A name without a number counts as attempt 1. Links and
 * anything else that is not a regular file are ignored. Readers refuse files that are not `within`.
 *
 * @example
 * listAttempts('.audit') // [{ number: 1, logs: { stdout: '.audit/stdout.1.log' }, meta: '.audit/meta.1.json'
 * }]
 */
export function listAttempts(dir: string, within?: string): Attempt[] {
  return attemptsIn(dir, entriesOf(dir), within)
}

/** The same from the entries of the directory, which were read already. */
export function attemptsIn(dir: string, entries: readonly fs.Dirent[], within?: string): Attempt[] {
  const found = new Map<number, { logs: Partial<Record<Channel, string>>; [kind: string]: unknown }>()
  for (const entry of entries) {
    const match = /^([a-z-]+)(?:\.(\d{1,9}))?\.(log|jsonl?|patch)$/.exec(entry.name)
    const kind = match && kinds.get(`${match[1]}.${match[3]}`)
    if (!kind || !entry.isFile()) continue
    const number = Number(match[2] ?? 1)
    const files = found.get(number) ?? { logs: {} }
    found.set(number, files)
    const path = join(dir, entry.name)
    const channel = channels.find((known) => known === kind)
    if (channel) files.logs[channel] = path
    else files[kind] = path
  }
  return [...found]
    .map(([number, files]) => ({ number, ...files, ...(within === undefined ? {} : { within }) }))
    .filter((attempt) => outputs.some((channel) => attempt.logs[channel] !== undefined))
    .sort((a, b) => a.number - b.number)
}

/**
 * Remembers which directory this is, and returns a check to call before each write by name. The agent that is
 * being recorded may have replaced it with a link, or another directory: nothing is written there.
 */
export function pinned(dir: string): () => void {
  const print = (): string => {
    const { dev, ino } = fs.statSync(dir, { bigint: true })
    return `${dev}:${ino} ${fs.realpathSync(dir)}`
  }
  const moved = (cause?: unknown) =>
    new Fault(
      'AUDIT_FAILED',
      `${quote(dir, 200)} was moved or replaced during the run; nothing is written there`,
      { cause },
    )
  const fixed = print()
  return () => {
    let now: string
    try {
      now = print()
    } catch (error) {
      throw moved(error)
    }
    if (now !== fixed) throw moved()
  }
}

/** The sizes of logs by channel, without those that no longer exist under their name. */
export function logSizes(logs: Attempt['logs']): Partial<Record<Channel, number>> {
  const sizes: Partial<Record<Channel, number>> = {}
  for (const channel of channels) {
    const path = logs[channel]
    const stat = path === undefined ? undefined : fs.lstatSync(path, { throwIfNoEntry: false })
    if (stat?.isFile()) sizes[channel] = stat.size
  }
  return sizes
}

/** Opens a log that was found; it may have been removed or replaced since. */
export function openLog(path: string, within?: string): number {
  try {
    return openPlain(path, fs.constants.O_RDONLY, undefined, within)
  } catch (error) {
    throw cannotRead('NOT_AN_AUDIT', path, error)
  }
}

/** Opens such a log for a moment. */
export function withLog<T>(path: string, within: string | undefined, use: (fd: number) => T): T {
  const fd = openLog(path, within)
  try {
    return use(fd)
  } finally {
    fs.closeSync(fd)
  }
}

function entriesOf(dir: string): fs.Dirent[] {
  try {
    return fs.readdirSync(dir, { withFileTypes: true })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw cannotRead('NOT_AN_AUDIT', dir, error)
  }
}
