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
  for (const grapheme of graphemesOf(text)) width += widthOfGrapheme(grapheme)
  return width
}

/** The longest start of a text that fits, with `…` if something is left out. */
export function fitTo(text: string, columns: number): string {
  // Except zero-width ones, no grapheme is narrower than a column, so a long text need not be read
  // completely.
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
  if (grapheme.length === 1 && code >= SIMPLE_END && isSimple(code)) return isSimpleAndWide(code) ? 2 : 1
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
  let word = ''
  let width = 0
  let blank = false
  const flush = () => {
    const done = { text: word, width, blank }
    word = ''
    width = 0
    return done
  }
  const graphemes = isAscii(line) ? line : graphemesOf(line)
  for (const grapheme of graphemes) {
    const columns = isAscii(grapheme) ? 1 : widthOfGrapheme(grapheme)
    const space = grapheme === ' '
    if (word !== '' && (space !== blank || (columns > 1 && !space))) yield flush()
    word += grapheme
    width += columns
    blank = space
    if (columns > 1) yield flush()
  }
  if (word !== '') yield flush()
}

/**
 * Splits a text into pieces that fit, ignoring word boundaries: for code. An empty text is one empty piece.
 */
export function cutTo(text: string, columns: number): string[] {
  const pieces: string[] = []
  if (isAscii(text)) {
    for (let at = 0; at < text.length; at += columns) pieces.push(text.slice(at, at + columns))
    return pieces.length === 0 ? [''] : pieces
  }
  let piece = ''
  let width = 0
  for (const grapheme of graphemesOf(text)) {
    const more = widthOfGrapheme(grapheme)
    if (width + more > columns && piece !== '') {
      pieces.push(piece)
      piece = ''
      width = 0
    }
    piece += grapheme
    width += more
  }
  pieces.push(piece)
  return pieces
}

/** Characters to segment at once: the time of `Intl.Segmenter` is quadratic in the length. */
const PIECE = 1024

/**
 * The graphemes of a text. `Intl.Segmenter` takes some microseconds for each, so it is asked only where
 * characters may belong together.
 */
function* graphemesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    if (standsAlone(text, from)) {
      yield text[from++]!
      continue
    }
    const to = pieceEnd(text, from)
    for (const { segment } of segments.segment(text.slice(from, to))) yield segment
    from = to
  }
}

/**
 * Before two characters that stand alone, where no grapheme continues; in a long text without any, between
 * two code points.
 */
function pieceEnd(text: string, from: number): number {
  const last = Math.min(from + PIECE, text.length)
  for (let at = from + 1; at < last; at++)
    if (isSimple(text.charCodeAt(at - 1)) && isSimple(text.charCodeAt(at))) return at
  if (last === text.length) return last
  const unit = text.charCodeAt(last)
  return unit >= 0xdc00 && unit < 0xe000 ? last - 1 : last
}

/** Whether a character is a grapheme by itself: neither it nor the next one joins others. */
function standsAlone(text: string, at: number): boolean {
  return isSimple(text.charCodeAt(at)) && (at + 1 === text.length || isSimple(text.charCodeAt(at + 1)))
}

/**
 * Characters that join no other: letters, numbers and signs of the first scripts and of Kana, Han and Hangul,
 * and what stands for broken bytes.
 */
function isSimple(unit: number): boolean {
  if (unit >= SIMPLE_END) return isSimpleAndWide(unit) || unit === 0xfffd
  if (kinds[unit] === 0) kinds[unit] = isSimpleSign(unit) ? 1 : 2
  return kinds[unit] === 1
}

const SIMPLE_END = 0x2800
/** 1 for simple ones, 2 for others, 0 if nobody asked. */
const kinds = new Uint8Array(SIMPLE_END)

function isSimpleSign(unit: number): boolean {
  // Between them are scripts whose letters join, and Hangul in parts.
  if (unit >= 0x700 && unit < 0x2010) return false
  return /[\p{L}\p{N}\p{P}\p{S} ]/u.test(String.fromCharCode(unit))
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

function isPlain(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0x20 && unit <= 0x7e
}

/** Printable ASCII is as wide as it is long, and is most of the text. */
function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (!isPlain(text, at)) return false
  return true
}
