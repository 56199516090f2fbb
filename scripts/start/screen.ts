import { columnsOf, wantsColor } from '../../src/cli/draw/flags.ts'
import { safeLine } from '../../src/cli/draw/safe.ts'
import { fitTo, widthOf } from '../../src/cli/draw/width.ts'
import { painter, type Style, styles, wrap } from '../../src/cli/draw/wrap.ts'

/** Bytes of a log, and where they are in it. */
export interface Quote {
  readonly channel: string
  readonly from: number
  readonly bytes: Uint8Array
  /** How they look. @default dim */
  readonly style?: Style
}

/** Columns of a terminal below which nothing is narrowed further. */
const MIN_COLUMNS = 40
/** How the quoted bytes show a line end. */
export const [CR_SIGN, LF_SIGN] = ['←', '↵']
const INDENT = '   '
/** Bytes of each end of a quote that are looked at: more than fit on a line. */
const MAX_END = 2048

/**
 * What `npm start` writes: parts with a title, quoted bytes, and what became of them; no line is wider than
 * the terminal.
 */
export function screen() {
  const paint = painter(wantsColor({}))
  const columns = Math.max(MIN_COLUMNS, columnsOf())
  const write = (line: string) => console.log(line.trimEnd())
  const paragraph = (text: string, style: Style, indent = INDENT) => {
    for (const line of wrap([{ text, style }], columns - indent.length, paint)) write(indent + line)
  }
  /** A mark, and text behind it that is wrapped below itself. */
  const marked = (mark: string, style: Style, text: string) => {
    const lines = wrap([{ text: safeLine(text), style: styles.plain }], columns - INDENT.length - 2, paint)
    for (const [at, line] of lines.entries()) write(`${INDENT}${at === 0 ? paint(style, mark) : ' '} ${line}`)
  }

  return {
    /** The first line of all, or the title of the last part. */
    head: (text: string) => paragraph(text, styles.bold, ''),
    aside: (text: string) => paragraph(text, styles.dim, ''),
    blank: () => write(''),
    part(number: number, text: string) {
      write('')
      paragraph(`${number}  ${text}`, styles.bold, '')
    },
    /** A sentence that explains. */
    note: (text: string) => paragraph(text, styles.plain),
    /** The recording that the next bytes are from. */
    source: (path: string) => paragraph(path, styles.cyan),
    /** Bytes as they are in the log, one row each, cut in the middle if they do not fit. */
    quote(quotes: readonly Quote[]) {
      const places = quotes.map(({ channel, from, bytes }) => `${channel} ${from}-${from + bytes.length}`)
      const room = Math.max(...places.map((place) => place.length))
      for (const [at, { bytes, style = styles.dim }] of quotes.entries()) {
        const start = `${INDENT}${places[at]!.padEnd(room)} │ `
        const text = visible(new TextDecoder().decode(ends(bytes)))
        write(paint(styles.dim, start) + paint(style, cutInside(text, columns - widthOf(start))))
      }
    },
    good: (text: string) => marked('→', styles.green, text),
    bad: (text: string) => marked('✗', styles.red, text),
    open: (text: string) => marked('■', styles.yellow, text),
    /** A command to copy: never cut. */
    command: (text: string) => write(`${INDENT}${paint(styles.green, '$')} ${text}`),
    /** Commands to copy with what they do: behind them where that fits, else below. */
    commands(rows: readonly (readonly [command: string, does: string])[]) {
      const room = Math.max(...rows.map(([command]) => command.length))
      const beside = rows.every(([, does]) => INDENT.length + room + 2 + widthOf(does) <= columns)
      for (const [command, does] of rows) {
        if (beside) write(`${INDENT}${command.padEnd(room)}  ${paint(styles.dim, does)}`)
        else {
          write(INDENT + command)
          write(`${INDENT}  ${paint(styles.dim, fitTo(does, columns - INDENT.length - 2))}`)
        }
      }
    },
  }
}

/** The first and the last bytes of many, because most of them will not be shown. */
function ends(bytes: Uint8Array): Uint8Array {
  return bytes.length <= 2 * MAX_END
    ? bytes
    : Buffer.concat([bytes.subarray(0, MAX_END), bytes.subarray(-MAX_END)])
}

/** Line ends as arrows, which every font has; other control characters as everywhere. */
function visible(text: string): string {
  return safeLine(text.replaceAll('\r', CR_SIGN).replaceAll('\n', LF_SIGN))
}

/** The start and the end of a text that does not fit. */
function cutInside(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  const head = fitTo(text, Math.ceil(columns / 2))
  const left = columns - widthOf(head)
  // No character is narrower than a column but those of no width.
  let tail = Array.from(text.slice(-left))
  while (widthOf(tail.join('')) > left) tail = tail.slice(1)
  return head + tail.join('')
}
