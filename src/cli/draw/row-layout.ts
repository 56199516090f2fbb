import { countWords } from '../../views/words.ts'
import { safe } from './safe.ts'
import { cutTo, fitTo, widthOf } from './width.ts'
import { type Paint, type Style, styles, wrap } from './wrap.ts'

/** How lines are drawn: their colors, the columns there are right now, and whether everything is shown. */
export interface Look {
  readonly paint: Paint
  readonly columns: () => number
  readonly full: boolean
}

interface RowOptions {
  /** Kept whole behind the text. */
  readonly tail?: string
  readonly indent?: number
  readonly look?: Style
}

interface MarginOptions {
  /** Lines that are shown, unless all are. */
  readonly most: number
  readonly from: 'start' | 'end'
  readonly indent: number
  readonly look?: (line: string) => Style
}

/** The lines that a drawing is made of. Nothing in them can steer the terminal. */
export function rowsFor({ paint, columns, full }: Look) {
  return {
    /** One line with a mark, cut to the width; what must be seen is kept whole behind it. */
    row(mark: string, style: Style, text: string, options: RowOptions = {}): string {
      const { tail = '', indent = 0, look = styles.plain } = options
      const left = columns() - indent - 2 - widthOf(tail)
      const body = fitTo(oneLine(text), Math.max(8, left))
      return `${' '.repeat(indent)}${paint(style, mark)} ${paint(look, body)}${paint(styles.dim, tail)}`
    },
    /** A text on as many lines as it needs, indented. */
    indented: (text: string, indent = 2, look: Style = styles.plain): string[] =>
      wrap([{ text, style: look }], columns() - indent, paint).map((line) => ' '.repeat(indent) + line),
    folds: (lines: number): string => paint(styles.dim, `  … ${countWords(lines, 'more line')} (--full)`),
    /** The first or the last lines of a text in a margin, and how many more there are. */
    inMargin(text: string, { most, from, indent, look }: MarginOptions): string[] {
      const all = safe(text).split('\n')
      const count = full ? all.length : Math.min(most, all.length)
      const shown = from === 'start' ? all.slice(0, count) : all.slice(all.length - count)
      const margin = `${' '.repeat(indent)}${paint(styles.dim, '│')} `
      const width = Math.max(8, columns() - indent - 2)
      const lines = shown.flatMap((line) =>
        (full ? cutTo(line, width) : [fitTo(line, width)]).map((part) =>
          (margin + paint(look?.(line) ?? styles.plain, part)).trimEnd(),
        ),
      )
      const left = all.length - count
      const more = left > 0 ? [margin + paint(styles.dim, `… ${countWords(left, 'more line')} (--full)`)] : []
      return from === 'start' ? [...lines, ...more] : [...more, ...lines]
    },
  }
}

export type Rows = ReturnType<typeof rowsFor>

/** Facts on as few lines as they need, indented; a fact is not broken unless it is longer than a line. */
export function factLines(facts: readonly string[], columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const fact of facts.filter(Boolean).map(oneLine)) {
    const longer = line === '' ? `  ${fact}` : `${line} · ${fact}`
    if (line !== '' && widthOf(longer) > columns) {
      lines.push(line)
      line = `  ${fact}`
    } else line = longer
  }
  if (line !== '') lines.push(line)
  return lines.flatMap((long) =>
    widthOf(long) <= columns ? [long] : cutTo(long.trim(), columns - 2).map((part) => `  ${part}`),
  )
}

export function oneLine(text: string): string {
  return safe(text.slice(0, 4000)).replaceAll('\n', ' ').trimEnd()
}

/** What text does not contain: broken bytes and control characters, except tab, line ends and ESC. */
const noText = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f\ufffd]/g
/** Characters at the start of a line that decide whether it is text. */
const LOOK_AT = 256

/** The text with runs of binary lines counted, not shown: nobody reads them, and drawing them takes long. */
export function foldBinary(text: string): string {
  if (text.search(noText) < 0) return text
  const shown: string[] = []
  let folded = 0
  const tell = () => {
    if (folded > 0) shown.push(`… ${countWords(folded, 'line')} of binary (--full)`)
    folded = 0
  }
  for (const line of text.split('\n')) {
    const head = line.slice(0, LOOK_AT)
    const odd = head.match(noText)?.length ?? 0
    // Short lines between them are chance.
    if (odd * 8 > head.length || (folded > 0 && line.length < 8)) folded++
    else {
      tell()
      shown.push(line)
    }
  }
  tell()
  return shown.join('\n')
}
