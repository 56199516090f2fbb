import type { Code, Fault } from '../base/fault.ts'
import { exits } from './exit-code-table.ts'

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

/**
 * True if stdout failed or a disk is full, for commands with an exit code of their own for other failures.
 */
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
