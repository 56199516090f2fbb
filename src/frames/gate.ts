import { COLON, isBlank, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../json/characters.ts'

/**
 * How sure an opening bracket must be before it counts as one: in prose (`strict`), in prose when a schema can
 * tell (`loose`), or as the first thing of the whole input (`document`).
 */
export type GateKind = 'strict' | 'loose' | 'document'

/**
 * Judges an opening bracket by what follows it, byte by byte: true, it opens; false, it is prose; undefined,
 * go on. `{cmd}` and `fn() { }` must not open, `{ "a"` must, and blanks in between may go on for ever.
 *
 * @example
 * const judge = gate('loose', OPEN_BRACE)
 * judge(0x61 /* a *\/) // undefined: an identifier, so a colon must follow
 */
export function gate(kind: GateKind, opening: number): (byte: number) => boolean | undefined {
  //  { name : 1
  //   ^ first
  //    ^^^^ word
  //        ^ colon
  let expects: 'first' | 'word' | 'colon' = 'first'
  return (byte) => {
    if (expects === 'word') {
      if (isWordByte(byte)) return undefined
      expects = 'colon'
    }
    if (isBlank(byte)) return undefined
    if (expects === 'colon') return byte === COLON
    if (opening === OPEN_BRACKET) return byte === OPEN_BRACE || (kind === 'document' && beginsValue(byte))
    if (byte === QUOTE) return true
    if (kind === 'strict') return false
    if (byte === APOSTROPHE) return true
    if (kind === 'document' && (byte === SLASH || byte === 0x7d)) return true
    if (!isWordByte(byte) || isDigit(byte)) return false
    expects = 'word'
    return undefined
  }
}

/**
 * Whether a text that begins with a bracket would have opened a candidate in the middle of prose.
 *
 * @example
 * opensInProse('{"a":1}', false) // true
 * opensInProse('{}', false) // false
 */
export function opensInProse(text: string, loose: boolean): boolean {
  return opensAs(loose ? 'loose' : 'strict', text)
}

/** The same for any kind of opening. */
export function opensAs(kind: GateKind, text: string): boolean {
  const judge = gate(kind, text.charCodeAt(0))
  for (let at = 1; at < text.length; at++) {
    const opens = judge(text.charCodeAt(at))
    if (opens !== undefined) return opens
  }
  return false
}

const APOSTROPHE = 0x27
const SLASH = 0x2f

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

function isWordByte(byte: number): boolean {
  return (
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    isDigit(byte) ||
    byte === 0x5f ||
    byte === 0x24
  )
}

/** What an element of an array, or its end, may begin with. */
function beginsValue(byte: number): boolean {
  return isDigit(byte) || '[]"\'-tfn'.includes(String.fromCharCode(byte))
}
