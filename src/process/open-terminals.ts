import fs from 'node:fs'
import type { Stream } from 'node:stream'

/**
 * The descriptors of our open terminals. node-pty does not close them on exec, so every process that is
 * started meanwhile would inherit them; and a terminal that another process holds does not hang up when we
 * are killed.
 */
const open = new Set<number>()
let nothing: number | undefined

/** Hides a terminal from processes that are started later; call the result when it is closed. */
export function keepToUs(terminal: number | undefined): () => void {
  if (terminal === undefined) return () => {}
  open.add(terminal)
  return () => void open.delete(terminal)
}

type Stdio = number | Stream | 'pipe' | 'ignore' | 'inherit'

/** The stdio of a new process, with our terminals replaced by /dev/null. */
export function withoutTerminals(stdio: readonly Stdio[]): Stdio[] {
  const covered = [...stdio]
  for (const terminal of open) {
    nothing ??= fs.openSync('/dev/null', 'r+')
    // From 3 on, `ignore` leaves a descriptor unchanged.
    while (covered.length <= terminal) covered.push('ignore')
    if (terminal >= stdio.length) covered[terminal] = nothing
  }
  return covered
}
