import type { Code, Fault } from '../base/fault.ts'

/** The exit codes of the command. */
export const exits = {
  /** A valid value; a run that succeeded or finished. */
  good: 0,
  /** The run failed. */
  failed: 1,
  /** Invalid options, or a file or schema that cannot be read. */
  usage: 2,
  /** Nothing valid: the schema rejects everything, or there is no match. */
  nothing: 3,
  /** The end is unknown, or the input was cut in the middle of a record. */
  incomplete: 4,
  /** A run needs input; the result of a worker needs a human. */
  needsInput: 5,
  /** The result of a worker is not of the active run, and is only archived. */
  archived: 6,
  /** Our own output could not be written: stdout, the audit; or the reader of a run left and ended it. */
  output: 7,
} as const

/** Codes of failed writes, whatever the reason. */
const unwritten: ReadonlySet<Code> = new Set([
  'OUTPUT_FAILED',
  'JOURNAL_FAILED',
  'RECORD_FAILED',
  'AUDIT_FAILED',
])

/** The exit code for a fault that ends a command: our output could not be written, or else bad usage. */
export function faultExit(fault: Fault): number {
  return unwritten.has(fault.code) || isFull(fault) ? exits.output : exits.usage
}

/** True if stdout failed or a disk is full: some commands have their own code for other failures. */
export function isFull(fault: Fault): boolean {
  if (fault.code === 'OUTPUT_FAILED') return true
  for (
    let error: unknown = fault, depth = 0;
    error instanceof Error && depth < 8;
    error = error.cause, depth++
  ) {
    if ('code' in error && full.has(String(error.code))) return true
    // A file above a limit of ours is EFBIG, too, but that does not come from a system call.
    if ('code' in error && error.code === 'EFBIG' && 'syscall' in error) return true
  }
  return false
}

const full: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT'])
