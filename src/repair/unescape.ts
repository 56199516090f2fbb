import { orElse } from '../base/fault.ts'
import { isJson, jsonValue } from '../json/strict.ts'
import { backslashesBefore } from '../json/strings.ts'
import { changeOf } from './change.ts'
import type { Mended } from './edits.ts'

/**
 * Reads a document that was escaped once too often: every quote in it has a backslash. `undefined` for any
 * other text.
 *
 * Either only the quotes were escaped, or everything that JSON escapes in a string. If both give a value, and
 * not the same one, the text is ambiguous: `\\n` is then a line break, or a backslash and an n. One of the
 * two may need a repair of its own.
 *
 * @example
 * unescapeOnce('{\\"a\\":1}', mend) // { kind: 'mended', text: '{"a":1}', changes: […] }
 */
export function unescapeOnce(text: string, mend: (text: string) => Mended): Mended | undefined {
  const first = text.indexOf('"')
  if (first < 1 || !/^[{[][\s\\nrt]*\\$/.test(text.slice(0, first))) return undefined
  for (let at = first; at >= 0; at = text.indexOf('"', at + 1))
    if (backslashesBefore(text, at, 0) === 0) return undefined
  const readings = [text.replaceAll('\\"', '"'), decoded(text)].filter((made) => made !== undefined)
  const one = readings.find(isJson)
  if (one === undefined) return undefined
  const other = readings.find((made) => made !== one)
  const two = other === undefined || isJson(other) ? other : mendedText(mend(other))
  // `\\u12` is half an escape, or text.
  const isHalf = one === readings[0] && other !== undefined && two === undefined
  if (isHalf || (two !== undefined && !isSame(one, two))) return { kind: 'ambiguous', at: first - 1 }
  return {
    kind: 'mended',
    text: one,
    changes: [changeOf('removed one level of escapes', first - 1, '\\"', '"')],
  }
}

//  {\\n  "a": "x\\ny"\\n}
//   ^^          ^^   ^^ a break between tokens, an escape in a string, a break
/**
 * Reads a document whose line breaks and tabs between tokens were escaped, but not its quotes. `undefined`
 * for any other text.
 *
 * @example
 * breaksUnescaped('{\\n"a":1}') // { kind: 'mended', text: '{  "a":1}', changes: […] }
 */
export function breaksUnescaped(text: string): Mended | undefined {
  if (!/^[{[]\s{0,99}\\[nrt]/.test(text)) return undefined
  // Inside a string a backslash and the next character are passed over.
  const made = text.replace(/"(?:[^"\\]|\\.)*"|\\[nrt]/gs, (token) => (token[0] === '"' ? token : '  '))
  const changes = [changeOf('removed one level of escapes', text.indexOf('\\'), '\\n', ' ')]
  return isJson(made) ? { kind: 'mended', text: made, changes } : undefined
}

/** The text as the content of a JSON string; it may contain raw line breaks. */
function decoded(text: string): string | undefined {
  const quoted = `"${text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')}"`
  return jsonValue(quoted) as string | undefined // cast: JSON in quotes is a string
}

function mendedText(made: Mended): string | undefined {
  return made.kind === 'mended' ? made.text : undefined
}

/** A value that is too deep to be serialized is too deep for us. */
function isSame(one: string, two: string): boolean {
  return orElse(() => JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(two)), false)
}
