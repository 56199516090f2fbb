import { stringEnd } from '../../json/balanced.ts'

/**
 * Escapes raw control characters inside strings: a model that writes a line break where `\n` belongs is
 * the most common fault of all. Gives the text back unchanged if there is none.
 *
 * @example
 * controlsEscaped('{"a":"x\ny"}') // { text: '{"a":"x\\ny"}', count: 1 }
 */
export function controlsEscaped(text: string): { text: string; count: number } {
  const pieces: string[] = []
  let copied = 0
  let count = 0
  for (let open = text.indexOf('"'); open >= 0; ) {
    const close = stringEnd(text, open)
    const end = close < 0 ? text.length : close
    for (let i = open + 1; i < end; i++) {
      const unit = text.charCodeAt(i)
      if (unit >= SPACE) continue
      pieces.push(text.slice(copied, i), escapeOf(unit))
      copied = i + 1
      count++
    }
    open = close < 0 ? -1 : text.indexOf('"', close + 1)
  }
  if (count === 0) return { text, count }
  pieces.push(text.slice(copied))
  return { text: pieces.join(''), count }
}

/** How JSON spells a control character inside a string. */
export function escapeOf(unit: number): string {
  return short.get(unit) ?? `\\u${unit.toString(16).padStart(4, '0')}`
}

const SPACE = 32
const short = new Map([
  [8, '\\b'],
  [9, '\\t'],
  [10, '\\n'],
  [12, '\\f'],
  [13, '\\r'],
])
