/**
 * The text that a row of a table shows, on one line and with all characters visible: ␊ is U+000A, and so on
 * from ␀ to ␟, and ⟨a0⟩ is U+00A0.
 */
export function hidden(shown: string): string {
  return shown
    .replace(/[\u2400-\u241f]/g, (picture) => String.fromCharCode(picture.charCodeAt(0) - 0x2400))
    .replace(/⟨([0-9a-f]+)⟩/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}

/** A row of a table, `text → answer`, below a heading, `# …`. */
export interface Row {
  readonly heading: string
  /** As it is spelled in the table. */
  readonly shown: string
  readonly text: string
  readonly answer: string
}

/** The rows of a table; blank lines separate its groups. */
export function rowsOf(table: string): Row[] {
  const rows: Row[] = []
  let heading = ''
  for (const line of table.split('\n')) {
    const arrow = line.lastIndexOf(ARROW)
    if (line.startsWith('# ')) heading = line.slice(2)
    else if (arrow >= 0) {
      const shown = line.slice(0, arrow)
      rows.push({ heading, shown, text: hidden(shown), answer: line.slice(arrow + ARROW.length) })
    }
  }
  return rows
}

const ARROW = ' → '
