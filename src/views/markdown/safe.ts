/** The text in a fence longer than any run of backticks in it. */
export function fenced(text: string, language = ''): string {
  const marks = '`'.repeat(Math.max(3, longestRow(text) + 1))
  return `${marks}${language}\n${plain(text).replace(/\n{1,9}$/, '')}\n${marks}`
}

export function codeSpan(text: string): string {
  const line = plain(text).replaceAll('\n', ' ').trim()
  if (line === '') return ''
  const row = longestRow(line)
  const marks = '`'.repeat(row + 1)
  // A blank separates a backtick at the edge from the mark.
  return row === 0 ? `${marks}${line}${marks}` : `${marks} ${line} ${marks}`
}

function longestRow(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, { length }) => Math.max(longest, length), 0)
}

/** Escapes text for HTML. */
export function html(text: string): string {
  return plain(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/**
 * Markdown of an agent, to be embedded in ours: no HTML, no remote images, and a fence that was left open is
 * closed. Text in code stays unchanged where it certainly is code: in a fence that begins its line, and
 * between backticks of one line. Elsewhere `<` is written `&lt;`, also in code in a list.
 */
export function safeMarkdown(text: string): string {
  const lines: string[] = []
  let fence = ''
  /** A run of backticks in this paragraph has no partner in its line: what follows may be code or not. */
  let open = false
  for (const line of plain(text).split('\n')) {
    if (fence !== '') {
      const closed = closes(line, fence)
      // Spelled plainly: readers differ in which blanks they allow there, and the rest must not be code.
      lines.push(closed ? fence : line)
      if (closed) fence = ''
      continue
    }
    fence = opening(line)
    if (fence !== '') {
      open = false
      lines.push(line)
      continue
    }
    if (line.trim() === '') open = false
    const [safe, closed] = safeLine(line, open)
    open ||= !closed
    lines.push(safe)
  }
  if (fence !== '') lines.push(fence)
  return lines.join('\n')
}

/** Markdown of an agent as a quotation: a title in it cannot be taken for one of ours. */
export function quotation(text: string): string {
  const lines = safeMarkdown(text).split('\n')
  return lines.map((line) => (line === '' ? '>' : `> ${line}`)).join('\n')
}

/** The marks of a fence that begins this line, or nothing. */
function opening(line: string): string {
  const [marks = ''] = /^(?:`{3,}|~{3,})/.exec(line) ?? []
  return marks[0] === '`' && line.includes('`', marks.length) ? '' : marks
}

function closes(line: string, fence: string): boolean {
  const marks = line.trim()
  const indent = line.length - line.trimStart().length
  return indent <= 3 && marks.length >= fence.length && marks === fence[0]!.repeat(marks.length)
}

/** The line without HTML, and whether all its backticks have a partner. */
function safeLine(line: string, open: boolean): [string, boolean] {
  let safe = ''
  let at = 0
  while (at < line.length) {
    const mark = open ? -1 : line.indexOf('`', at)
    if (mark < 0) return [safe + withoutHtml(line.slice(at)), !open]
    let following = mark
    while (line[following] === '`') following++
    const end = partner(line, following, following - mark)
    if (end < 0) return [safe + withoutHtml(line.slice(at)), false]
    // A backslash before a backtick makes it plain text, which changes how the rest of the line is read.
    if (line[mark - 1] === '\\') return [safe + withoutHtml(line.slice(at)), false]
    safe += withoutHtml(line.slice(at, mark)) + line.slice(mark, end)
    at = end
  }
  return [safe, true]
}

/** The end of the next run of `length` backticks within 1,000 characters; -1 if there is none. */
function partner(line: string, from: number, length: number): number {
  const last = Math.min(line.length, from + 1000)
  for (let at = line.indexOf('`', from); at >= 0 && at < last; at = line.indexOf('`', at)) {
    const start = at
    while (line[at] === '`') at++
    if (at - start === length) return at
  }
  return -1
}

function withoutHtml(text: string): string {
  return text.replaceAll('<', '&lt;').replaceAll('![', '!\\[')
}

/** Without control characters, and with Unix line ends. */
function plain(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '')
}
