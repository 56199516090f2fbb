import { safeLine } from './safe.ts'
import { fitTo, widthOf } from './width.ts'

/**
 * A line of a table: texts that are cut and padded to the widths of their columns. Those without a width are
 * shown in full, so that they can be copied. `look` paints a cell by its column.
 */
export function tableRow(
  texts: readonly string[],
  widths: readonly number[],
  look: (cell: string, column: number) => string = (cell) => cell,
): string {
  const cells = texts.map((text, at) => {
    const width = widths[at] ?? 0
    const shown = width === 0 ? safeLine(text) : fitTo(safeLine(text), width)
    return look(shown + ' '.repeat(Math.max(0, width - widthOf(shown))), at)
  })
  return `${cells.join('  ')}\n`
}

/** A time of a record, to the minute; `?` if it is not known. */
export function minuteOf(ts: string | null): string {
  return ts === null ? '?' : new Date(ts).toISOString().slice(0, 16).replace('T', ' ')
}
