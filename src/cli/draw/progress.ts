import { Transform } from 'node:stream'
import { statusLine } from './status-line.ts'

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
