import { Fault, quote } from './fault.ts'

/** The code of a system error: `ENOENT`, … */
export function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined
}

/** What to do about the errors that disks report. */
const advice: Record<string, string> = {
  ENOSPC: 'the disk is full; free some space and resume',
  EDQUOT: 'the quota is used up; free some space and resume',
  EFBIG: 'the file is larger than allowed here; raise the limit and resume',
  EROFS: 'the file system is read-only; choose another directory',
  EACCES: 'permission denied; choose another directory',
  ENOTDIR: 'a part of the path is a file; choose another directory',
  EIO: 'the disk reports an error; what was written so far is whole',
  ELOOP: 'it is a symbolic link; remove it',
  EISDIR: 'it is a directory; remove it',
  EFTYPE: 'it is not a regular file; remove it',
  ENXIO: 'it is not a regular file; remove it',
}

/** The Fault for a system call that failed on a file of ours. */
export function diskFault(what: string, path: string, cause: unknown): Fault {
  const code = codeOf(cause) ?? 'unknown'
  const next = Object.hasOwn(advice, code) ? advice[code] : 'what was written so far is whole'
  return new Fault('JOURNAL_FAILED', `cannot ${what} ${quote(path, 200)} (${code}): ${next}`, { cause })
}
