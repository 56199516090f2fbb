import fs from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { NOT_TAKEN, type OptionTable, readOptions } from '../base/check-options.ts'
import { orElse } from '../base/fault.ts'
import { isInside, readPlain } from '../disk/plain-file.ts'

/** `fs-diff.N.json`: what changed in the working directory, as paths with `/`, sorted. */
export interface FsDiff {
  readonly created: readonly string[]
  readonly modified: readonly string[]
  readonly deleted: readonly string[]
  /** Those of them that are links to a place outside the working directory. */
  readonly outside?: readonly string[]
  /** There were more files than `maxFiles`; the lists contain only what is certain. */
  readonly truncated?: true
  /** From `diff.N.patch`: what changed in each file, as a unified diff. */
  readonly diffs?: ReadonlyMap<string, string>
}

/** What `fsDiff` of `run()` looks at: which files changed. (`diff` records what changed in them.) */
export interface FsDiffOptions {
  /** Names of folders to leave out, at any level. @default .audit, .git and the usual caches */
  readonly ignore?: readonly string[] | undefined
  /** A path to leave out: the audit directory, whatever its name is. */
  readonly except?: string | undefined
  /** Maximum number of files to look at. @default 50000 */
  readonly maxFiles?: number | undefined
}

export const SNAPSHOT_OPTIONS = {
  signal: NOT_TAKEN,
  ignore: { default: ['.audit', '.git', '.hg', '.svn', 'node_modules', '.venv', '__pycache__', '.cache'] },
  except: {},
  maxFiles: { default: 50_000 },
} as const satisfies OptionTable<FsDiffOptions>

/** Size, time and inode of every file, by path. */
export interface Snapshot {
  readonly files: ReadonlyMap<string, string>
  readonly whole: boolean
}

/** Whether a folder is the audit directory of a run, this one or another that runs at the same time. */
function isRecording(entries: readonly fs.Dirent[]): boolean {
  const has = (name: RegExp) => entries.some((entry) => name.test(entry.name))
  return has(/^meta\.\d+\.json$/) && has(/^(?:stdout|pty-output)\.\d+\.log$/)
}

/** After this many files, yield to the event loop. */
const SLICE = 500
const MAX_GITIGNORE = 64 * 1024

/**
 * Records every file under a directory, without following links. Left out are the ignored names, the plain
 * folder names of the `.gitignore` at the top (`dist/`, `/build`; patterns are not), and the audit directory.
 *
 * @example
 * const before = await snapshot('.')
 * // … a run …
 * compare(before, await snapshot('.')) // { created: ['a.txt'], modified: [], deleted: [] }
 */
export async function snapshot(root: string, options: FsDiffOptions = {}): Promise<Snapshot> {
  const { ignore, except, maxFiles } = readOptions('snapshot', options, 'snapshot(".")', SNAPSHOT_OPTIONS)
  const skip = new Set(ignore.map(fold))
  const skipFolders = new Set(plainIgnores(root).map(fold))
  const skipPath = except && relative(root, except).split(sep).join('/')
  const files = new Map<string, string>()
  // Paths below the root, with a final slash. Made by hand: `join` and `relative` take longer than a stat.
  const folders = ['']
  const top = resolve(root)
  let seen = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const inside = `${top}/${folder}`
    const entries = orElse(() => fs.readdirSync(inside, { withFileTypes: true }), [])
    if (isRecording(entries)) continue
    for (const entry of entries) {
      const name = fold(entry.name)
      const path = folder + entry.name
      if (skip.has(name) || path === skipPath) continue
      if (entry.isDirectory()) {
        if (!skipFolders.has(name)) folders.push(`${path}/`)
      } else {
        if (files.size >= maxFiles) return { files, whole: false }
        const print = fingerprint(`${top}/${path}`)
        if (print) files.set(path, print)
      }
      if (++seen % SLICE === 0) await setImmediate()
    }
  }
  return { files, whole: true }
}

/** What changed between two snapshots. If one of them is truncated, only certain changes are listed. */
export function compare(before: Snapshot, after: Snapshot): FsDiff {
  const created = before.whole ? [...after.files.keys()].filter((path) => !before.files.has(path)) : []
  const deleted = after.whole ? [...before.files.keys()].filter((path) => !after.files.has(path)) : []
  const modified: string[] = []
  for (const [path, print] of after.files) {
    const old = before.files.get(path)
    if (old !== undefined && old !== print) modified.push(path)
  }
  return {
    created: created.sort(),
    modified: modified.sort(),
    deleted: deleted.sort(),
    ...(before.whole && after.whole ? {} : { truncated: true as const }),
  }
}

/** Adds which of the paths are links to a place outside: later that can no longer be checked. */
export function withOutside(root: string, diff: FsDiff): FsDiff {
  const top = fs.realpathSync(root)
  // A dangling link may lead outside as soon as its target exists.
  const outside = [...diff.created, ...diff.modified].filter((path) =>
    orElse(() => !isInside(fs.realpathSync(join(root, path)), top), true),
  )
  return outside.length > 0 ? { ...diff, outside } : diff
}

function fingerprint(path: string): string | undefined {
  try {
    const stat = fs.lstatSync(path, { bigint: true })
    return `${stat.size} ${stat.mtimeNs} ${stat.ino}`
  } catch {
    return undefined
  }
}

// Case-folded: on some disks `.Audit` is the same folder, on others a lookalike must not slip through.
function fold(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}

function plainIgnores(root: string): string[] {
  return orElse(() => readPlain(join(root, '.gitignore'), MAX_GITIGNORE), '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^\/?[\w.-]+\/?$/.test(line))
    .map((line) => line.replaceAll('/', ''))
    .filter((name) => name !== '')
}
