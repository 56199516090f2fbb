import { isWord } from '../../json/balanced.ts'
import { AT, DOT, MINUS, PLUS, SLASH } from '../../json/characters.ts'

/** How JSON spells a word that it does not know, and what that changes. */
export interface Spelling {
  readonly text: string
  readonly change: string
}

/** A word or a number without quotes is at most so long. */
export const MAX_WORD = 256

/** A number or a literal that is JSON as it stands. */
export function isJsonWord(word: string): boolean {
  return number.test(word) || literals.has(word)
}

/**
 * Spells a word that is no JSON as JSON does, or gives `undefined` where a value would have to be invented.
 *
 * @example
 * spellingOf('None') // { text: 'null', change: 'spelled literals as JSON does' }
 * spellingOf('tru') // undefined
 */
export function spellingOf(word: string): Spelling | undefined {
  const python = pythonic.get(word)
  if (python) return { text: python, change: 'spelled literals as JSON does' }
  if (/^[+]?\.?\d/.test(word)) {
    const plain = word.replace(/^\+/, '').replace(/^\./, '0.')
    return number.test(plain) ? { text: plain, change: 'spelled numbers as JSON does' } : undefined
  }
  if (!plainWord.test(word) || isCutLiteral(word)) return undefined
  return { text: JSON.stringify(word), change: 'quoted words' }
}

/**
 * `tru` and `Fal` are literals that were cut short, and `undefined` is no value: quoting them would invent one.
 */
export function isCutLiteral(word: string): boolean {
  const lower = word.toLowerCase()
  return (
    word === 'undefined' ||
    ['true', 'false', 'null', 'none'].some((whole) => whole.startsWith(lower) && whole !== lower)
  )
}

/** Whether a number or a literal, in JSON's or Python's spelling, stands here. */
export function isNumberOrLiteralAt(text: string, at: number): boolean {
  let i = at
  while (i < at + MAX_WORD && isBarePart(text.charCodeAt(i))) i++
  const word = text.slice(at, i)
  return isJsonWord(word) || pythonic.has(word)
}

/** All that can belong to a key without quotes. */
export function isKeyPart(unit: number): boolean {
  return isWord(unit) || unit === MINUS || unit === DOT
}

/** All that can belong to a number or a word without quotes; what kind of word it is, is asked later. */
export function isBarePart(unit: number): boolean {
  return isKeyPart(unit) || unit === PLUS || unit === AT || unit === SLASH
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const plainWord = /^-?[\p{L}_$][\p{L}\p{N}_$./@-]*$/u
const literals = new Set(['true', 'false', 'null'])
const pythonic = new Map([
  ['True', 'true'],
  ['TRUE', 'true'],
  ['False', 'false'],
  ['FALSE', 'false'],
  ['None', 'null'],
  ['NULL', 'null'],
])
