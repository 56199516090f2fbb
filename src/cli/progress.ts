import { Transform } from 'node:stream'

/** Files smaller than this are done before anyone could read a progress line. */
const MIN_SIZE = 32 * 1024 * 1024
const EVERY_MS = 200

/**
 * Lets bytes pass and says on stderr how far it is: only for a long file, and only on a terminal. The
 * line is wiped when the bytes end, however they end.
 */
export function progress(size: number | undefined): Transform {
  const shown = process.stderr.isTTY && process.env['TERM'] !== 'dumb' && (size ?? 0) >= MIN_SIZE
  let passed = 0
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
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      passed += bytes.length
      if (shown && performance.now() >= next) {
        next = performance.now() + EVERY_MS
        dirty = true
        process.stderr.write(
          `\r\u001b[K${Math.floor((100 * passed) / size!)} % of ${Math.round(size! / 1e6)} MB`,
        )
      }
      done(null, bytes)
    },
    destroy(error, done) {
      process.off('SIGINT', interrupted)
      wipe()
      done(error)
    },
  })
}
