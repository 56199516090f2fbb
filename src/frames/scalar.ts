import { InString } from '../json/strings.ts'
import { isBlank, LF, QUOTE } from '../text/characters.ts'
import type { Inside, Scan } from './scan.ts'

/** A number or literal is never longer than this. */
const MAX_TOKEN = 4096

/** Whether a JSON document that is not an object or array could begin with this byte. */
export function beginsScalar(byte: number | undefined): boolean {
  return byte === QUOTE || isTokenByte(byte)
}

/**
 * The whole input as one string, number or literal.
 *
 *     "text"  \n
 *     ^^^^^^      body
 *           ^^^   rest: only blanks, or it is prose
 *
 * `giveUp` is called when it turns out to be prose.
 */
export function scalarMachine(scan: Scan, giveUp: (from: number) => void): (from: number) => void {
  const { tape } = scan
  let from = 0
  let seek = 0
  let stage: 'string' | 'token' | 'rest' = 'rest'
  const string = new InString()
  /** One past the scalar itself, once known. */
  let to = 0

  const scalar: Inside = {
    keep() {
      return from
    },
    look() {
      const limit = scan.limit(from)
      for (; seek < tape.end; seek++) {
        if (seek >= limit || !accepts(scan.byte(seek) as number)) {
          giveUp(from)
          return true
        }
      }
      return false
    },
    finish() {
      if (stage === 'string') giveUp(from)
      else {
        const end = stage === 'token' ? tape.end : to
        scan.cut({
          kind: 'object',
          from,
          to: end,
          text: scan.decode(from, end),
          textFrom: from,
          textTo: end,
          first: true,
        })
      }
    },
  }

  function accepts(byte: number): boolean {
    if (stage === 'string') {
      if (byte === LF) return false
      if (string.ends(byte)) {
        stage = 'rest'
        to = seek + 1
      }
      return true
    }
    if (stage === 'token') {
      if (isTokenByte(byte)) return seek - from < MAX_TOKEN
      stage = 'rest'
      to = seek
    }
    return isBlank(byte)
  }

  return (position) => {
    from = position
    seek = position + 1
    string.open(QUOTE)
    stage = scan.byte(position) === QUOTE ? 'string' : 'token'
    scan.enter(scalar)
  }
}

function isTokenByte(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    '+-.'.includes(String.fromCharCode(byte))
  )
}
