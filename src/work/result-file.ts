import { type BigIntStats, constants } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { badOption, quote } from '../base/fault.ts'
import { codeOf } from '../base/system-error-code.ts'
import { readBlock } from '../disk/plain-file.ts'

/** What is at the path of a result file. */
export type FoundResult =
  | { readonly state: 'absent' }
  | { readonly state: 'stale' }
  | { readonly state: 'refused'; readonly message: string }
  | { readonly state: 'read'; readonly text: string; readonly bytes: number }

/** The state of a path before the run. If it is the same afterwards, the run did not write it. */
export interface Before {
  readonly print: string | undefined
}

/** Records the state of a path before the worker starts. */
export async function before(path: string): Promise<Before> {
  const stats = await look(path)
  return { print: typeof stats === 'object' ? fileState(stats) : undefined }
}

/**
 * Reads a file that a worker wrote, and trusts nothing about it: it may be a link to a secret, a FIFO that
 * never answers, a device, a directory, 2 GB of zeros, or be swapped for one of them at any moment.
 *
 * So the path is checked without following links, opened without following links and without blocking, and
 * the opened file must be the same one that was checked: a regular file without a second hard link, small,
 * and unchanged after it was read.
 */
export async function readResult(
  root: string,
  name: string,
  old: Before,
  maxBytes: number,
): Promise<FoundResult> {
  const path = join(root, name)
  const seen = await look(path)
  if (seen === 'absent') return { state: 'absent' }
  if (typeof seen === 'string') return refused(seen)
  if (fileState(seen) === old.print) return { state: 'stale' }
  const wrong = whyRefused(seen, maxBytes) ?? (await outside(root, path))
  if (wrong) return refused(wrong)
  // Non-blocking: an ordinary open of a FIFO that was put here since would wait forever.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => error.code ?? 'unreadable')
  if (typeof file === 'string') return refused(`cannot be opened (${file})`)
  try {
    const opened = await file.stat({ bigint: true })
    if (fileState(opened) !== fileState(seen)) return refused('was swapped while it was opened')
    const bytes = readBlock(file.fd, 0, Number(opened.size) + 1)
    const after = await file.stat({ bigint: true })
    if (bytes.length !== Number(opened.size) || fileState(after) !== fileState(opened))
      return refused('changed while it was read')
    return { state: 'read', text: utf8.decode(bytes), bytes: bytes.length }
  } catch (error) {
    return refused(error instanceof TypeError ? 'is not UTF-8' : `cannot be read (${codeOf(error)})`)
  } finally {
    await file.close()
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const refused = (message: string): FoundResult => ({ state: 'refused', message })

async function look(path: string): Promise<BigIntStats | string> {
  try {
    return await lstat(path, { bigint: true })
  } catch (error) {
    const code = codeOf(error)
    return code === 'ENOENT' ? 'absent' : `cannot be checked (${code})`
  }
}

/** Identity and state of a file, in one string: nanosecond times distinguish two writes. */
function fileState(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.mode, stats.size, stats.mtimeNs, stats.ctimeNs].join(':')
}

function whyRefused(stats: BigIntStats, maxBytes: number): string | undefined {
  if (stats.isSymbolicLink()) return 'is a symbolic link'
  if (stats.isDirectory()) return 'is a directory'
  if (stats.isFIFO()) return 'is a FIFO'
  if (!stats.isFile()) return 'is not a regular file'
  if (stats.nlink > 1n) return 'has a second hard link'
  if (stats.size > BigInt(maxBytes)) return `has ${stats.size} bytes, more than ${maxBytes}`
  return undefined
}

/** O_NOFOLLOW protects the last name only: a folder on the way may be a link, too. */
async function outside(root: string, path: string): Promise<string | undefined> {
  const real = await realpath(dirname(path)).catch(() => undefined)
  if (real === undefined) return 'is in a folder that was removed'
  const inside = relative(root, real)
  const left = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)
  return left ? 'is reached through a link out of repo_dir' : undefined
}

/** The worker in comments and audits when a person gave the result. */
export const BY_HAND = 'by hand'

/**
 * Reads a result that a person wrote: JSON if it begins with a bracket, else headers as in `work_result.txt`.
 *
 * It is read as carefully as that of a worker, because it may be in the worker's repository, where the worker
 * may have put a link to a secret under its name. An unreadable file throws: the person is there to fix it.
 */
export async function readByHand(
  path: string,
  maxResult: number,
): Promise<{ json?: FoundResult; text?: FoundResult; names: { json: string; text: string } }> {
  const full = resolve(path)
  const name = basename(full)
  const folder = await realpath(dirname(full)).catch(() => undefined)
  const found =
    folder === undefined
      ? { state: 'absent' as const }
      : await readResult(folder, name, { print: undefined }, maxResult)
  if (found.state !== 'read') {
    const why = found.state === 'refused' ? found.message : 'is not there'
    throw badOption(`the result file ${quote(path, 200)} ${why}`)
  }
  const names = { json: name, text: name }
  return '{['.includes(found.text.replace('\ufeff', '').trimStart()[0] ?? '.')
    ? { json: found, names }
    : { text: found, names }
}
