const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Ranges of code points that take two columns: CJK, Hangul, full-width forms. */
const wide: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f900, 0x1faff],
  [0x20000, 0x3fffd],
]

/** Columns that a text takes on a terminal. A family emoji is one picture, a combining accent takes none. */
export function widthOf(text: string): number {
  let width = 0
  for (const { segment } of segments.segment(text)) width += widthOfGrapheme(segment)
  return width
}

/** The longest start of a text that fits, with `…` if something is left out. */
export function fitTo(text: string, columns: number): string {
  // No grapheme is narrower than a column but those of no width, so a long text need not be walked whole.
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
