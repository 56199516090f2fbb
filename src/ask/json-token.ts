import { CLOSE_LIST, CLOSE_MAP, COLON, COMMA, QUOTE, SPACE } from './json-characters.ts'

/** No number or literal of JSON that means anything is longer. */
export const MAX_TOKEN = 1_000

/** The end of the number or literal that may stand there; whether it is one is seen when it is complete. */
export function tokenEnd(text: string, from: number): number {
  let at = from
  while (at < text.length && isTokenPart(text.charCodeAt(at))) at++
  return at
}

function isTokenPart(c: number): boolean {
  return c > SPACE && c !== COMMA && c !== CLOSE_LIST && c !== CLOSE_MAP && c !== COLON && c !== QUOTE
}

/** What a number means; undefined for what is none. */
export function numberOf(token: string): number | undefined {
  return number.test(token) ? Number(token) : undefined
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** What the literals mean. */
export const words: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
])
