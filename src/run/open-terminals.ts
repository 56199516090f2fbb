import fs from 'node:fs'
import type { Stream } from 'node:stream'

/**
 * The descriptors of our open terminals. node-pty does not close them on exec, so every process that is started meanwhile
 * would hold them too; and a terminal that somebody else holds does not hang up when we are killed.
 */
const open = new Set<number>()
let nothing: number | undefined

/** Keeps a terminal from processes that are started later; called again when it is closed. */
export function keepToUs(terminal: number | undefined): () => void {
  if (terminal === undefined) return () => {}
  open.add(terminal)
  return () => void open.delete(terminal)
}

type Stdio = number | Stream | 'pipe' | 'ignore' | 'inherit'

/** The stdio of a new process, in which our terminals are covered by /dev/null. */
export function withoutTerminals(stdio: readonly Stdio[]): Stdio[] {
  const covered = [...stdio]
  for (const terminal of open) {
    nothing ??= fs.openSync('/dev/null', 'r+')
    // From 3 on, `ignore` leaves a descriptor as it is.
    while (covered.length <= terminal) covered.push('ignore')
    if (terminal >= stdio.length) covered[terminal] = nothing
  }
  return covered
}
