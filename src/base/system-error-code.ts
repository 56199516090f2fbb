import { Fault, quote } from './fault.ts'

/** The code of a system error: `ENOENT`, … */
export function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined
}

/** What the usual system errors mean. */
const meanings: Record<string, string> = {
  ENOENT: 'there is no such file or directory',
  EACCES: 'permission denied',
  ENOTDIR: 'there is a file where a directory should be',
  EISDIR: 'it is a directory',
  ELOOP: 'it is a symbolic link',
  EFTYPE: 'it is not a regular file',
  ENXIO: 'it is not a regular file',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EFBIG: 'the file is larger than allowed here',
  EROFS: 'the file system is read-only',
  EIO: 'the disk or the terminal reports an error',
}

const ELSEWHERE = 'choose another directory'

/** What to do about those that our own files can have. */
const advice: Record<string, string> = {
  EACCES: ELSEWHERE,
  ENOTDIR: ELSEWHERE,
  EISDIR: 'remove it',
  ELOOP: 'remove it',
  EFTYPE: 'remove it',
  ENXIO: 'remove it',
  ENOSPC: 'free some space and resume',
  EDQUOT: 'free some space and resume',
  EFBIG: 'raise the limit and resume',
  EROFS: ELSEWHERE,
}

/**
 * A system error in words, or its code if it is not a usual one.
 *
 * @example
 * meaningOfCode('EACCES') // 'permission denied'
 */
export function meaningOfCode(code: string, otherwise = code): string {
  return Object.hasOwn(meanings, code) ? meanings[code]! : otherwise
}

/** Why a system call failed, in words. */
export function whyFailed(error: unknown): string {
  return meaningOfCode(codeOf(error) ?? 'unknown error')
}

/** The Fault for a file or a directory of the user that cannot be read. */
export function cannotRead(code: 'BAD_OPTION' | 'NOT_AN_AUDIT', path: string, cause: unknown): Fault {
  return new Fault(code, `cannot read ${quote(path, 200)}: ${whyFailed(cause)}`, { cause })
}

/** The Fault for a system call that failed on a file of ours: a recording has a code of its own. */
export function diskFault(
  what: string,
  path: string,
  cause: unknown,
  fault: 'JOURNAL_FAILED' | 'RECORD_FAILED' = 'JOURNAL_FAILED',
): Fault {
  const code = codeOf(cause) ?? 'unknown'
  const meaning = Object.hasOwn(meanings, code) ? `${meanings[code]}; ` : ''
  const next = Object.hasOwn(advice, code) ? advice[code] : 'what was written so far is whole'
  return new Fault(fault, `cannot ${what} ${quote(path, 200)} (${code}): ${meaning}${next}`, { cause })
}

/** Does something with a file of ours: a system call that fails becomes such a Fault. */
export function onDisk<T>(
  what: string,
  path: string,
  act: () => T,
  fault?: Parameters<typeof diskFault>[3],
): T {
  try {
    return act()
  } catch (error) {
    throw diskFault(what, path, error, fault)
  }
}

/** Whether a Fault of files of ours advises another directory. */
export function wantsOtherDirectory({ code, cause }: Fault): boolean {
  return (code === 'JOURNAL_FAILED' || code === 'RECORD_FAILED') && advice[codeOf(cause) ?? ''] === ELSEWHERE
}
