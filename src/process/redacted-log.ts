import { LF } from '../text/characters.ts'
import { cutWord, pieceIn, type TextPiece } from '../views/redact/pieces.ts'
import type { TextRedactor } from '../views/redact/redact.ts'
import { openKeyBlock } from '../views/redact/shapes.ts'
import { linesBefore } from '../views/redact/table-cells.ts'

/** A longer line is hidden in parts, of which only the end waits for what follows. */
const MAX_LINE = 16 * 1024 * 1024
const OVERLAP = 8 * 1024
/** Characters of pieces of one message that wait for the end of their line. */
const MAX_PIECES = 64 * 1024
const MAX_KEY_LINES = 300
/** Messages whose last line was written before its end, and characters of such a line. */
const MAX_CUT = 64
const MAX_CUT_LINE = 1024
/** What a text could go on with, to see whether its end is the beginning of a secret. */
const PROBES = [
  'Zq7Rk2Wm9Tx4Lc8Vb3Nd6Hs1Jf5Gy0AeUi3Ko',
  '7QK2WM9TX4LC8VB3',
  '7c1e94b02fa85d3671c0e94b2f8a5d36',
]

interface HeldLine {
  readonly line: string
  readonly piece: TextPiece
}

/**
 * The bytes of a log without the secrets in them: what is handed out has none that could be recognized. A
 * line waits for its end, and the records of a message that comes in pieces wait for the end of a line of
 * the message, so that no secret is cut in two; what waits is lost with this process. They do not wait
 * longer than to the next record of another kind, which may be a request: then the end of their text is
 * hidden if it may be half of a secret.
 */
export class RedactedLog {
  readonly #hide: TextRedactor
  #waiting: Uint8Array[] = []
  #length = 0
  /** The lines before, as far as they say what follows. */
  #before = ''
  /** Lines that a private key may still go on for. */
  #keyLines = 0
  #pieces: HeldLine[] = []
  /** The last lines of messages that were let go before their end, oldest first. */
  readonly #cut = new Map<string, string>()

  constructor(hide: TextRedactor) {
    this.#hide = hide
  }

  /** What can be written now. */
  write(bytes: Uint8Array): Buffer {
    const out: (Buffer | string)[] = []
    let from = 0
    for (let lf = bytes.indexOf(LF); lf >= 0; lf = bytes.indexOf(LF, from)) {
      this.#hold(bytes.subarray(from, lf + 1))
      this.#lineOver(this.#take(), out)
      from = lf + 1
    }
    this.#hold(bytes.subarray(from))
    if (this.#length > MAX_LINE) {
      const long = this.#take()
      const end = long.length - OVERLAP
      out.push(this.#hide.text(long.subarray(0, end).toString()))
      this.#hold(long.subarray(end))
    }
    return joined(out)
  }

  /** The rest, at the end. */
  end(): Buffer {
    const out: (Buffer | string)[] = []
    if (this.#length > 0) this.#lineOver(this.#take(), out)
    this.#letGo(out)
    return joined(out)
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    // A copy: the reader of a pipe uses its buffer again.
    this.#waiting.push(Buffer.from(bytes))
    this.#length += bytes.length
  }

  #take(): Buffer {
    const line = Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#length = 0
    return line
  }

  #lineOver(bytes: Buffer, out: (Buffer | string)[]): void {
    const line = bytes.toString()
    const piece = pieceIn(line)
    const last = this.#pieces.at(-1)?.piece
    if (last && piece?.of !== last.of) this.#letGo(out)
    if (piece) {
      this.#pieces.push({ line, piece })
      const length = this.#pieces.reduce((sum, { piece: { text } }) => sum + text.length, 0)
      if (piece.text.endsWith('\n') || length > MAX_PIECES) this.#letGo(out)
      return
    }
    const shown = this.#plain(line)
    // A line without secrets stays as it is, also if it is no UTF-8.
    out.push(shown === line ? bytes : shown)
  }

  #plain(whole: string): string {
    const end = whole.endsWith('\n') ? '\n' : ''
    const line = whole.slice(0, whole.length - end.length)
    if (this.#keyLines > 0) {
      this.#keyLines = line.includes('-----END ') ? 0 : this.#keyLines - 1
      return `[redacted:private-key]${end}`
    }
    const opens = openKeyBlock(line) >= 0 && !line.includes('\\n')
    if (opens) this.#keyLines = MAX_KEY_LINES
    const shown = this.#hide.text(line, { after: this.#before })
    this.#before = opens ? '' : linesBefore(`${this.#before}${whole}`)
    return shown + end
  }

  /** Writes the records of pieces: the text that they have together is searched, and if it has a secret, the
   * first of them gets all of it. */
  #letGo(out: (Buffer | string)[]): void {
    const [first] = this.#pieces
    if (!first) return
    const text = this.#pieces.map(({ piece }) => piece.text).join('')
    const shown = this.#shown(first.piece.of, text)
    for (const [i, { line, piece }] of this.#pieces.entries()) {
      const made = shown === text ? line : piece.with(i === 0 ? shown : '')
      out.push(this.#hide.text(made))
    }
    this.#pieces = []
  }

  /** A text without its secrets, and without the halves of those that it shares with its neighbours. */
  #shown(of: string, text: string): string {
    const before = this.#cut.get(of) ?? ''
    const [oldest = ''] = this.#cut.size >= MAX_CUT ? this.#cut.keys() : []
    this.#cut.delete(oldest)
    this.#cut.delete(of)
    const own = (part: string) => this.#hide.text(part, { count: false })
    const all = this.#hide.text(before + text)
    const shown = before === '' ? all : all.slice(sameStart(all, own(before)))
    if (text.endsWith('\n')) return shown
    const line = (before + text).slice((before + text).lastIndexOf('\n') + 1).slice(-MAX_CUT_LINE)
    this.#cut.set(of, line)
    const known = own(line)
    // What looks random only after a plain word is the probe itself.
    const isWord = cutWord(line) < 0
    const same = PROBES.map((probe) => {
      const probed = own(line + probe)
      const at = sameStart(probed, known)
      return isWord && probed.startsWith('[redacted:random]', at) ? known.length : at
    })
    const left = known.length - Math.min(...same)
    return left === 0 ? shown : `${shown.slice(0, Math.max(0, shown.length - left))}[redacted:cut]`
  }
}

/** How many characters two texts begin with that are the same. */
function sameStart(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}

function joined(pieces: readonly (Buffer | string)[]): Buffer {
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
