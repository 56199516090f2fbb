import { cutTo, widthOf, wordsOf } from './width.ts'

/** How a piece of text looks: the parameters of one or more SGR sequences. */
export type Style = readonly number[]

export const styles = {
  plain: [],
  bold: [1],
  dim: [2],
  italic: [3],
  underline: [4],
  strike: [9],
  red: [31],
  green: [32],
  yellow: [33],
  magenta: [35],
  cyan: [36],
} as const satisfies Record<string, Style>

/** Paints text, if colours are enabled. The text must be safe already. */
export type Paint = (style: Style, text: string) => string

export function painter(color: boolean): Paint {
  return (style, text) =>
    color && style.length > 0 && text !== '' ? `\u001b[${style.join(';')}m${text}\u001b[0m` : text
}

/** Text of one style; a line end in it begins a new line. */
export interface Span {
  readonly text: string
  readonly style: Style
}

/**
 * Lays out spans in lines of at most `columns`, broken at blanks. A word that is longer than a line is cut.
 * Each line is painted separately, so that it looks right by itself.
 */
export function wrap(spans: readonly Span[], columns: number, paint: Paint): string[] {
  const width = Math.max(1, columns)
  const done: string[] = []
  let line: Span[] = []
  let used = 0
  /** Blanks that count only if a word follows on the same line. */
  let blanks: { text: string; width: number; style: Style } | undefined

  const add = (text: string, style: Style) => {
    const last = line.at(-1)
    if (last && last.style === style) line[line.length - 1] = { text: last.text + text, style }
    else line.push({ text, style })
  }
  const breakLine = () => {
    done.push(line.map(({ text, style }) => paint(style, text)).join(''))
    line = []
    used = 0
    blanks = undefined
  }
  const put = (text: string, columns: number, style: Style) => {
    const gap = blanks?.width ?? 0
    if (used > 0 && used + gap + columns > width) breakLine()
    else if (blanks && used + gap + columns <= width) {
      add(blanks.text, blanks.style)
      used += gap
    }
    blanks = undefined
    if (columns <= width) {
      add(text, style)
      used += columns
      return
    }
    for (const piece of cutTo(text, width)) {
      if (used > 0) breakLine()
      add(piece, style)
      used = widthOf(piece)
    }
  }

  for (const { text, style } of spans) {
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) breakLine()
      for (const word of wordsOf(part)) {
        if (!word.blank) put(word.text, word.width, style)
        // Blanks at the start of a line are an indent that the writer wanted.
        else blanks = { text: word.text, width: word.width, style }
      }
    }
  }
  breakLine()
  return done
}
