import { stringEnd } from '../../json/balanced.ts'

/**
 * Drops fence marks that stand inside the JSON but outside its strings (seed 001: "Markdown pollution"),
 * together with the rest of their line if that is only a label. Gives the text back unchanged if there is
 * none.
 *
 * @example
 * marksDropped('{"a":1,\n```\n"b":2}') // { text: '{"a":1,\n\n"b":2}', count: 1 }
 */
export function marksDropped(text: string): { text: string; count: number } {
  const pieces: string[] = []
  let copied = 0
  let count = 0
  let quote = text.indexOf('"')
  const marks = markFinder(text)
  let mark = marks(0)
  while (mark >= 0) {
    if (quote >= 0 && quote < mark) {
      const close = stringEnd(text, quote)
      if (close < 0) break
      quote = text.indexOf('"', close + 1)
      if (mark < close) mark = marks(close + 1)
      continue
    }
    pieces.push(text.slice(copied, mark))
    copied = markEnd(text, mark)
    count++
    mark = marks(copied)
  }
  if (count === 0) return { text, count }
  pieces.push(text.slice(copied))
  return { text: pieces.join(''), count }
}

/** The next mark at or after a place. A kind of mark that is not there is searched for only once. */
function markFinder(text: string): (from: number) => number {
  let ticks = -2
  let tildes = -2
  return (from) => {
    if (ticks !== -1 && ticks < from) ticks = text.indexOf('```', from)
    if (tildes !== -1 && tildes < from) tildes = text.indexOf('~~~', from)
    return ticks < 0 || tildes < 0 ? Math.max(ticks, tildes) : Math.min(ticks, tildes)
  }
}

/** Behind the run, and behind a label of letters and digits that ends the line. */
function markEnd(text: string, mark: number): number {
  let end = mark
  while (text[end] === text[mark]) end++
  const label = /^[A-Za-z0-9]{1,16}[ \t]*(?=\r?\n|$)/.exec(text.slice(end, end + 64))
  return end + (label?.[0].length ?? 0)
}
