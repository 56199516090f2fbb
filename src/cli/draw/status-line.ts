const EVERY_MS = 200

/** A line on stderr with the progress of a long command, overwritten by the next one. */
export interface StatusLine {
  /** Shows the words, if the last update is old enough; `words` is called only then. */
  show(words: () => string): void
  /** Removes the line. */
  end(): void
}

/** Shows nothing unless stderr is a terminal and it is `wanted`. Ctrl-C removes the line, too. */
export function statusLine(wanted = true): StatusLine {
  const shown = wanted && process.stderr.isTTY && process.env['TERM'] !== 'dumb'
  let next = performance.now() + EVERY_MS
  let dirty = false
  const wipe = () => {
    if (dirty) process.stderr.write('\r\u001b[K')
    dirty = false
  }
  const interrupted = () => {
    wipe()
    process.kill(process.pid, 'SIGINT')
  }
  if (shown) process.once('SIGINT', interrupted)
  return {
    show(words) {
      if (!shown || performance.now() < next) return
      next = performance.now() + EVERY_MS
      dirty = true
      process.stderr.write(`\r\u001b[K${words()}`)
    },
    end() {
      process.off('SIGINT', interrupted)
      wipe()
    },
  }
}
