import type { Sink } from '../base/stage.ts'
import { escapeRemover } from './ansi.ts'
import type { Scan } from './scan.ts'

/**
 * Drives a scan with the bytes of its channel: escape sequences are removed, then what is open looks at the
 * rest, or `lookOutside` while nothing is.
 */
export function feed(scan: Scan, lookOutside: () => boolean): Sink<Uint8Array> {
  const remover = escapeRemover({
    keep: (bytes) => scan.tape.append(bytes),
    drop: (count) => scan.tape.remove(count),
  })

  function run(): void {
    while (scan.inside ? scan.inside.look() : lookOutside()) {
      // Each turn moves the scan on.
    }
  }

  return {
    write(bytes) {
      remover.write(
        Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      )
      run()
      scan.settle()
    },
    end() {
      remover.end()
      scan.ended = true
      run()
      while (scan.inside) {
        scan.inside.finish()
        run()
      }
      scan.close()
    },
  }
}
