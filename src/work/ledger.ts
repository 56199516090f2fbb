import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { checkPath, misfit } from '../base/check-options.ts'
import { type Code, Fault, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { digestOf } from '../disk/cache.ts'
import { writeWhole } from '../disk/durable.ts'
import { readPlain } from '../disk/plain-file.ts'
import type { WorkStatus } from './result.ts'

/** The active run of an issue, the only one whose result counts, and its state. */
export interface LedgerEntry {
  readonly issue_ref: string
  readonly run_id: string
  readonly state: 'active' | WorkStatus | 'needs-human'
  /** False if nobody called `activate`: the entry only says how the last run ended, and any may be next. */
  readonly activated?: false
  /** Counts the changes of this entry, from 1. */
  readonly version: number
}

/**
 * Where `work` looks up which run of an issue is active, and stores how it ended. `swap` is compare-and-set:
 * it only writes if the entry still has the version that was read (0 for no entry), and of any number of
 * processes that try, one succeeds.
 *
 * @example
 * const entry = await runs.read('shop#12')
 * await runs.swap('shop#12', entry?.version ?? 0, { run_id: 'run-8', state: 'active' })
 */
export interface Ledger {
  read(issueRef: string): Promise<LedgerEntry | undefined>
  /** The new entry, with everything in `next`, or undefined if another process was faster. */
  swap(
    issueRef: string,
    version: number,
    next: Pick<LedgerEntry, 'run_id' | 'state' | 'activated'>,
  ): Promise<LedgerEntry | undefined>
}

/**
 * A ledger in a directory. Each version of an entry is a separate file, created under a name that is still
 * free, so there is no lock that a killed process could leave behind.
 *
 * @example
 * await activate(ledger('.outbox/ledger'), 'shop#12', 'run-8')
 */
export function ledger(dir: string): Ledger {
  checkPath('ledger', dir, 'ledger(".outbox/ledger")')
  const folder = (issueRef: string) => join(dir, issueKey(issueRef))

  async function read(issueRef: string): Promise<LedgerEntry | undefined> {
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      const version = (await versions(dir, folder(issueRef)))[0]
      if (version === undefined) return undefined
      const path = join(folder(issueRef), nameOf(version))
      try {
        return parseEntry(readPlain(path, MAX_ENTRY), issueRef, version)
      } catch (error) {
        // Gone: newer versions were created meanwhile, and the old one was removed.
        if (codeOf(error) !== 'ENOENT') throw notAnEntry(path, error)
      }
    }
    throw stuck('lost the entry that it lists')
  }

  return {
    read: (issueRef) => read(issueRef).catch(ledgerFailed),
    async swap(issueRef, version, next) {
      const entry: LedgerEntry = { issue_ref: issueRef, ...next, version: version + 1 }
      const path = folder(issueRef)
      const newestIn = async () => (await versions(dir, path))[0] ?? 0
      try {
        if ((await newestIn()) !== version) return undefined
        if (version >= MAX_VERSION) throw new Error('its versions are used up')
        if (!(await writeWhole(join(path, nameOf(entry.version)), JSON.stringify(entry), true)))
          return undefined
        const newest = await newestIn()
        // Other processes may have moved on so far that our name was used and removed before we took it.
        if (newest >= entry.version + KEPT) return undefined
        await clear(dir, path, newest)
      } catch (error) {
        ledgerFailed(error)
      }
      return entry
    },
  }
}

/** The name of an issue in a store: it may contain anything. */
export function issueKey(issueRef: string): string {
  return digestOf(issueRef).slice(0, 32)
}

/** Number of old versions to keep, so that a slower process never finds an old name free again. */
const KEPT = 20

/**
 * Makes a run the active one of its issue, whichever was active before: from now on only its result counts.
 *
 * @example
 * await activate(ledger('.outbox/ledger'), 'shop#12', 'run-8')
 */
export async function activate(runs: Ledger, issueRef: string, runId: string): Promise<LedgerEntry> {
  const example = 'activate(ledger(".outbox/ledger"), "shop#12", "run-8")'
  if (typeof runs?.read !== 'function') throw misfit('activate', 'a ledger', runs, example)
  for (const name of [issueRef, runId])
    if (typeof name !== 'string') throw misfit('activate', 'the names of an issue and a run', name, example)
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const entry = await runs.read(issueRef)
    if (entry?.run_id === runId && entry.activated !== false) return entry
    // A run that has ended keeps its state.
    const state = entry?.run_id === runId ? entry.state : 'active'
    const next = await runs.swap(issueRef, entry?.version ?? 0, { run_id: runId, state })
    if (next) return next
  }
  throw stuck('refused a change')
}

/**
 * Stores how a run ended, if it is still the active one, or if no run of its issue was activated. Never
 * changes the entry of another activated run. A run that has its status keeps it: `needs-human` comes before
 * a status, so an attempt that stores it late was overtaken by the result of a person.
 */
export async function conclude(
  runs: Ledger,
  issueRef: string,
  runId: string,
  state: LedgerEntry['state'],
): Promise<LedgerEntry | undefined> {
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const entry = await runs.read(issueRef)
    if ((activeIn(entry) ?? runId) !== runId) return entry
    if (
      entry?.run_id === runId &&
      (entry.state === state || (state === 'needs-human' && entry.state !== 'active'))
    )
      return entry
    const next = await runs.swap(issueRef, entry?.version ?? 0, {
      run_id: runId,
      state,
      ...(activeIn(entry) === undefined ? { activated: false } : {}),
    })
    if (next) return next
  }
  throw stuck('refused a change')
}

/** The activated run, if there is one. */
export function activeIn(entry: LedgerEntry | undefined): string | undefined {
  return entry?.activated === false ? undefined : entry?.run_id
}

/** How often another process may be faster; a ledger that refuses more changes is broken. */
const MAX_TURNS = 1000

function stuck(what: string): Fault {
  return new Fault('LEDGER_FAILED', `the ledger ${what} ${MAX_TURNS} times`)
}

/** A third-party ledger may throw anything, or never answer. */
export function boundedLedger(runs: Ledger, ms: number): Ledger {
  const wait = <T>(ask: () => Promise<T>) => within(ask, 'the ledger', 'LEDGER_FAILED', ms)
  return {
    read: (issueRef) => wait(() => runs.read(issueRef)),
    swap: (issueRef, version, next) => wait(() => runs.swap(issueRef, version, next)),
  }
}

const nameOf = (version: number) => `${String(version).padStart(9, '0')}.json`
const MAX_VERSION = 999_999_999
/** Names of an issue and a run, and a state: an entry is never this large. */
const MAX_ENTRY = 16 * 1024

/** The existing versions, newest first. */
async function versions(dir: string, path: string): Promise<number[]> {
  const names = await readdir(path).catch(async (error) => {
    if (codeOf(error) !== 'ENOENT') throw notAnEntry(path, error)
    // A dangling link looks absent, too, but nothing can be written there when the work is done.
    for (const place of [dir, path]) {
      if (await lstat(place).then((stats) => stats.isSymbolicLink(), absent)) throw notAnEntry(place, error)
    }
    return []
  })
  return names
    .filter((name) => /^\d{9}\.json$/.test(name))
    .map((name) => Number(name.slice(0, 9)))
    .sort((a, b) => b - a)
}

async function clear(dir: string, path: string, newest: number): Promise<void> {
  for (const version of await versions(dir, path)) {
    if (version <= newest - KEPT) await rm(join(path, nameOf(version)), { force: true })
  }
}

export const endStates = ['ok', 'fail', 'blocked', 'needs-human'] as const satisfies LedgerEntry['state'][]
const states: readonly unknown[] = ['active', ...endStates]

/** Reads an entry; throws if it is invalid, or belongs to another issue or version. */
export function parseEntry(text: string, issueRef: string, version: number): LedgerEntry {
  const entry: LedgerEntry | null = JSON.parse(text)
  if (typeof entry !== 'object' || entry === null)
    throw new Error(`it holds ${quote(text)}, which is not an entry`)
  const known = entry.issue_ref === issueRef && entry.version === version && states.includes(entry.state)
  if (!known || typeof entry.run_id !== 'string') throw new Error('not an entry of this issue and version')
  return entry
}

function absent(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error
}

/** Something else under the name of an entry: it is never skipped, and never overwritten. */
function notAnEntry(path: string, cause: unknown): Fault {
  const why = codeOf(cause) ?? (cause instanceof SyntaxError ? 'not JSON' : (cause as Error).message)
  const hint = Object.hasOwn(hints, why) ? hints[why] : why
  return new Fault(
    'LEDGER_FAILED',
    `the ledger cannot use ${quote(path, 200)} (${hint}); look at it and move it away`,
    { cause },
  )
}

const hints: Record<string, string> = {
  ELOOP: 'a symbolic link',
  ENOENT: 'a dangling symbolic link',
  EFTYPE: 'not a regular file',
  EFBIG: 'too large for an entry',
  ENOTDIR: 'no directory',
  ENXIO: 'not a regular file',
}

function ledgerFailed(error: unknown): never {
  if (Fault.is(error)) throw error
  throw new Fault('LEDGER_FAILED', 'the ledger of active runs cannot be read or written', { cause: error })
}

/** Calls third-party code, which may throw anything, or never answer: both become a Fault with this code. */
export async function within<T>(ask: () => Promise<T>, who: string, code: Code, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Fault(code, `${who} did not answer in ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([ask(), late])
  } catch (error) {
    if (Fault.is(error)) throw error
    throw new Fault(code, `${who} failed`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
