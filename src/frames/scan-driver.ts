import { Bytes } from '../base/platform.ts'
import type { Sink } from '../base/stage.ts'
import { EscapeRemover } from '../text/ansi.ts'
import { LF } from '../text/characters.ts'
import type { Scan } from './scan.ts'

/** A scan that can skip lines. */
export interface LineScan extends Required<Sink<Uint8Array>> {
  /** Skips whole lines, which become text. Only after whole lines that were scanned. */
  skip(lines: Bytes): void
}

/**
 * Feeds a scan with the bytes of its channel: removes escape sequences, then gives the rest to the open
 * machine, or to `outside` while none is open. After `turn` emissions it stops until `more`.
 */
export function feed(scan: Scan, outside: { look(): boolean }, turn: number): LineScan {
  const remover = new EscapeRemover(scan.channel, {
    keep: (bytes) => scan.tape.append(bytes),
    drop: (chunk, from, to) => scan.tape.remove(chunk, from, to),
  })
  let closed = false
  /** The turn ended before everything in the buffer was scanned. */
  let following = false

  /** Small pieces of an open line: nothing can be cut before its LF, so they are scanned together. */
  let pieces: Bytes | undefined
  let gathered = 0

  /** Adds a small chunk to the pieces; false if they must be scanned with it. */
  function gather(chunk: Uint8Array): boolean {
    pieces ??= Bytes.allocUnsafeSlow(MAX_GATHERED)
    pieces.set(chunk, gathered)
    gathered += chunk.length
    return gathered <= MAX_GATHERED - MAX_PIECE && chunk.indexOf(LF) < 0
  }

  /** Takes the pieces. */
  function taken(): Bytes {
    const all = pieces!.subarray(0, gathered)
    gathered = 0
    return all
  }

  /** Scans everything in the buffer; false if the turn ends before. */
  function run(): boolean {
    const turnOver = scan.emitted + turn
    while (scan.inside ? scan.inside.look() : outside.look()) {
      if (scan.emitted >= turnOver) return false
    }
    return true
  }

  function goOn(): boolean {
    following = !run()
    // Until the next turn no bytes are added, and the current chunk still belongs to the caller.
    if (!following) scan.settle()
    return following
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
      if (bytes.length <= MAX_PIECE && !following && !scan.opened && scan.inside?.waitsForLf?.()) {
        if (gather(bytes)) return
        remover.write(taken())
      } else {
        if (gathered > 0) remover.write(taken())
        remover.write(
          Bytes.isBuffer(bytes) ? bytes : Bytes.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
        )
      }
      goOn()
    },
    skip: (lines) => scan.skip(lines),
    end() {
      if (gathered > 0) remover.write(taken())
      remover.end()
      scan.ended = true
      finish()
    },
    more() {
      if (closed) return false
      return scan.ended ? finish() : following && goOn()
    },
  }
}

/** A longer chunk is scanned by itself. */
const MAX_PIECE = 256
const MAX_GATHERED = 4096
