const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Ranges of code points that take two columns: CJK, Tangut, Kana, Hangul, full-width forms, pictures. */
const wide: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18df2],
  [0x1aff0, 0x1b2fb],
  [0x1d300, 0x1d376],
  [0x1f200, 0x1f265],
  [0x1f300, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f900, 0x1faff],
  [0x20000, 0x3fffd],
]

/** Columns that a text takes on a terminal. A family emoji is one picture, a combining accent takes none. */
export function widthOf(text: string): number {
  if (isAscii(text)) return text.length
  let width = 0
  for (const walk = new Graphemes(text); walk.next(); ) width += walk.width
  return width
}

/** The longest start of a text that fits, with `…` if something is left out. */
export function fitTo(text: string, columns: number): string {
  // Nearly every grapheme takes a column or more, so a long text need not be read completely.
  const head = text.slice(0, columns * 8)
  if (head.length === text.length && widthOf(text) <= columns) return text
  let width = 0
  let kept = ''
  for (const { segment } of segments.segment(head)) {
    width += widthOfGrapheme(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}

function widthOfGrapheme(grapheme: string): number {
  const code = grapheme.codePointAt(0)!
  if (code < 0x300) return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : 1
  if (/^[\p{Mn}\p{Me}\p{Cf}]/u.test(grapheme)) return 0
  if (/^\p{RI}\p{RI}/u.test(grapheme) || /\ufe0f/u.test(grapheme)) return 2
  if (/^\p{Emoji_Presentation}/u.test(grapheme)) return 2
  return wide.some(([from, to]) => code >= from && code <= to) ? 2 : 1
}

/** A piece of text and its width: a word, or blanks, between which a line may be broken. */
export interface Word {
  readonly text: string
  readonly width: number
  readonly blank: boolean
}

/** Splits a line into words and blanks. A line may be broken between wide characters, so each is a word. */
export function* wordsOf(line: string): Generator<Word> {
  let from = 0
  let width = 0
  let blank = false
  const word = (to: number): Word => {
    const done = { text: line.slice(from, to), width, blank }
    from = to
    width = 0
    return done
  }
  for (const walk = new Graphemes(line); walk.next(); ) {
    const space = walk.isSpace
    if (walk.at > from && (space !== blank || walk.width > 1)) yield word(walk.at)
    width += walk.width
    blank = space
    if (walk.width > 1) yield word(walk.end)
  }
  if (from < line.length) yield word(line.length)
}

/** Splits a text into pieces that fit, ignoring words: for code. An empty text is one empty piece. */
export function cutTo(text: string, columns: number): string[] {
  const pieces: string[] = []
  if (isAscii(text)) {
    for (let at = 0; at < text.length; at += columns) pieces.push(text.slice(at, at + columns))
    return pieces.length === 0 ? [''] : pieces
  }
  let from = 0
  let width = 0
  for (const walk = new Graphemes(text); walk.next(); width += walk.width) {
    if (width + walk.width <= columns || walk.at === from) continue
    pieces.push(text.slice(from, walk.at))
    from = walk.at
    width = 0
  }
  pieces.push(text.slice(from))
  return pieces
}

/** Characters to segment at once: the time of `Intl.Segmenter` is quadratic in the length. */
const PIECE = 1024

/**
 * Goes through the graphemes of a text. `Intl.Segmenter` takes some microseconds for each, so it is asked
 * only where characters may join. Without an object for each: binary output takes a third of the time.
 */
class Graphemes {
  readonly #text: string
  /** The current grapheme is `[at, end)`. */
  at = 0
  end = 0
  width = 0
  /** Graphemes that were found together. */
  #found: readonly string[] = []
  #next = 0

  constructor(text: string) {
    this.#text = text
  }

  get isSpace(): boolean {
    return this.end - this.at === 1 && this.#text.charCodeAt(this.at) === SPACE
  }

  next(): boolean {
    const text = this.#text
    this.at = this.end
    if (this.#next === this.#found.length) {
      if (this.at === text.length) return false
      const kind = kindOf(text.charCodeAt(this.at))
      const end = kind > WIDE ? -1 : simpleEnd(text, this.at)
      if (end > 0) {
        this.end = end
        this.width = kind
        return true
      }
      const piece = text.slice(this.at, pieceEnd(text, this.at))
      this.#found = Array.from(segments.segment(piece), ({ segment }) => segment)
      this.#next = 0
    }
    const grapheme = this.#found[this.#next++]!
    this.end += grapheme.length
    this.width = widthOfGrapheme(grapheme)
    return true
  }
}

const SPACE = 0x20

/** Between two simple characters, where no grapheme continues; else between two code points. */
function pieceEnd(text: string, from: number): number {
  const last = Math.min(from + PIECE, text.length)
  for (let at = from + 1; at < last; at++)
    if (isSimple(text.charCodeAt(at - 1)) && isSimple(text.charCodeAt(at))) return at
  if (last === text.length) return last
  const unit = text.charCodeAt(last)
  return unit >= 0xdc00 && unit < 0xe000 ? last - 1 : last
}

/** The end of a simple character with its accents; -1 if what follows may join it in another way. */
function simpleEnd(text: string, at: number): number {
  let end = at + 1
  while (end < text.length && kindOf(text.charCodeAt(end)) === ACCENT) end++
  return end === text.length || isSimple(text.charCodeAt(end)) ? end : -1
}

/** Characters that join no other: of the first scripts, Kana, Han, Hangul, and for broken bytes. */
function isSimple(unit: number): boolean {
  return kindOf(unit) <= WIDE
}

/** Kinds of characters: simple ones by their columns, and others. */
const WIDE = 2
const ACCENT = 3
const JOINS = 4

function kindOf(unit: number): number {
  if (unit >= SIMPLE_END) return isSimpleAndWide(unit) ? WIDE : unit === 0xfffd ? 1 : JOINS
  if (kinds[unit] === 0) kinds[unit] = findKind(unit)
  return kinds[unit]!
}

const SIMPLE_END = 0x2800
/** 0 if nobody asked. */
const kinds = new Uint8Array(SIMPLE_END)

function findKind(unit: number): number {
  // Between them are scripts whose letters join, and Hangul in parts.
  if (unit >= 0x800 && unit < 0x2010) return JOINS
  const sign = String.fromCharCode(unit)
  if (/[\p{L}\p{N}\p{P}\p{S} ]/u.test(sign)) return widthOfGrapheme(sign)
  return /[\p{Mn}\p{Me}]/u.test(sign) ? ACCENT : JOINS
}

function isSimpleAndWide(unit: number): boolean {
  return (
    (unit >= 0x4e00 && unit <= 0x9fff) ||
    (unit >= 0xac00 && unit <= 0xd7a3) ||
    (unit >= 0x3041 && unit <= 0x3096) ||
    (unit >= 0x30a1 && unit <= 0x30fa) ||
    (unit >= 0x3400 && unit <= 0x4dbf)
  )
}

/** Printable ASCII is as wide as it is long, and is most of the text. */
function isAscii(text: string): boolean {
  return !/[^ -~]/.test(text)
}
