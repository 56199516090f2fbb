import { Bytes } from '../base/platform.ts'
import type { Sink } from '../base/stage.ts'
import { escapeRemover } from './ansi.ts'
import type { Scan } from './scan.ts'

/** A scan that can pass over lines. */
export interface LineScan extends Required<Sink<Uint8Array>> {
  /** Passes over whole lines of the channel, which are text then. Only where whole lines were written, and all looked at. */
  skip(lines: Bytes): void
}

/**
 * Drives a scan with the bytes of its channel: escape sequences are removed, then what is open looks at the
 * rest, or `lookOutside` while nothing is. After `turn` emissions it stops, and goes on with `more`.
 */
export function feed(scan: Scan, lookOutside: () => boolean, turn: number): LineScan {
  const remover = escapeRemover(scan.channel, {
    keep: (bytes) => scan.tape.append(bytes),
    drop: (chunk, from, to) => scan.tape.remove(chunk, from, to),
  })
  let closed = false
  /** The turn was over before everything at hand was looked at. */
  let behind = false

  /** Looks at everything at hand, or answers false when the turn is over before that. */
  function run(): boolean {
    const turnOver = scan.emitted + turn
    while (scan.inside ? scan.inside.look() : lookOutside()) {
      if (scan.emitted >= turnOver) return false
    }
    return true
  }

  function goOn(): boolean {
    behind = !run()
    // Until the turn comes round again no bytes are added, and the chunk at hand stays whose it is.
    if (!behind) scan.settle()
    return behind
  }

  function finish(): boolean {
    while (run()) {
      if (!scan.inside) {
        scan.close()
        closed = true
        return false
      }
      scan.inside.finish()
    }
    return true
  }

  return {
    write(bytes) {
      remover.write(
        Bytes.isBuffer(bytes) ? bytes : Bytes.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      )
      goOn()
    },
    skip: (lines) => scan.skip(lines),
    end() {
      remover.end()
      scan.ended = true
      finish()
    },
    more() {
      if (closed) return false
      return scan.ended ? finish() : behind && goOn()
    },
  }
}
