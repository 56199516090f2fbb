import { Transform } from 'node:stream'

const EVERY_MS = 200

/**
 * A line on stderr with the progress of a long command, overwritten by the next one. Shows nothing unless
 * stderr is a terminal and it is `wanted`. Ctrl-C removes the line, too.
 */
export function statusLine(wanted = true) {
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
    /** Shows the words, if the last update is old enough; `words` is called only then. */
    show(words: () => string) {
      if (!shown || performance.now() < next) return
      next = performance.now() + EVERY_MS
      dirty = true
      process.stderr.write(`\r\u001b[K${words()}`)
    },
    /** Removes the line, until it is shown again. */
    wipe,
    /** Removes the line. */
    end() {
      process.off('SIGINT', interrupted)
      wipe()
    },
  }
}

/** Smaller files are done before anyone could read a progress line. */
const MIN_SIZE = 32 * 1024 * 1024

/**
 * Passes bytes on and shows the progress on stderr: only for a long file, and only on a terminal. The
 * line is removed when the bytes end, however they end.
 */
export function progress(size: number | undefined): Transform {
  const status = statusLine((size ?? 0) >= MIN_SIZE)
  let passed = 0
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      passed += bytes.length
      status.show(() => `${Math.floor((100 * passed) / size!)} % of ${Math.round(size! / 1e6)} MB`)
      done(null, bytes)
    },
    destroy(error, done) {
      status.end()
      done(error)
    },
  })
}
