import {
  APOSTROPHE,
  AT,
  beginsLiteral,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  classTable,
  DOT,
  isBlank,
  isBracket,
  isDigit,
  isWordCharacter,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  OPEN_PAREN,
  QUOTE,
  SLASH,
} from '../text/characters.ts'

/**
 * How strictly an opening bracket is judged: in prose (`strict`), in prose when a schema can
 * decide (`loose`), as the first thing of the whole input (`document`), or not at all (`any`).
 */
export type BracketRule = 'strict' | 'loose' | 'document' | 'any'

/**
 * Judges an opening bracket by what follows it, byte by byte: true, it opens; false, it is prose; undefined,
 * not known yet. `{cmd}` and `fn() { }` must not open, `{ "a"` and `{name: 1` must, with any number of blanks
 * in between.
 *
 * @example
 * const judge = bracketCheck('strict', OPEN_BRACE)
 * judge(0x61 /* a *\/) // undefined: a bare key, so a colon must follow
 */
export function bracketCheck(kind: BracketRule, opening: number): (byte: number) => boolean | undefined {
  //  { name : 1
  //   ^ first
  //    ^^^^ word
  //        ^ colon
  let expects: 'first' | 'word' | 'colon' = 'first'
  /** Bytes of a curly quote that have been seen: E2 80 9C. */
  let curly = 0
  /** So far the word has no ASCII: it may be a no-break space. */
  let foreign = true
  if (kind === 'any') return () => true
  return (byte) => {
    if (expects === 'word') {
      if (curly > 0 && byte === CURLY[curly]) {
        curly++
        return curly === CURLY.length ? true : undefined
      }
      curly = 0
      // An unusual blank before a key or a value.
      if (foreign && byte < 0x80 && (opening === OPEN_BRACE ? opensObject : opensArray)(kind, byte))
        return true
      if (byte < 0x80 && !isBlank(byte)) foreign = false
      if (kind === 'document') return judgeFirstWords(opening, byte)
      if (opening === OPEN_BRACKET) return foreign ? undefined : false
      if (isBareCharacter(byte)) return undefined
      expects = 'colon'
    }
    if (isBlank(byte)) return undefined
    if (expects === 'colon') return byte === COLON
    const opens = opening === OPEN_BRACKET ? opensArray(kind, byte) : opensObject(kind, byte)
    if (opens) return true
    const mayBeCurly = byte === CURLY[0] && (opening === OPEN_BRACE || kind === 'document')
    if (kind === 'document' ? !isBareCharacter(byte) : !mayBeCurly && !mayBeginKey(opening, byte))
      return false
    curly = mayBeCurly ? 1 : 0
    foreign = byte >= 0x80
    expects = 'word'
    return undefined
  }
}

function mayBeginKey(opening: number, byte: number): boolean {
  return opening === OPEN_BRACE ? isWordCharacter(byte) : byte >= 0x80
}

//  {first name: 1   {name": 1   [text", "b"   [a, b]
//            ^          ^           ^             ^ opens
/** At the start of the input a key may have blanks, and a key or a text may lack its first quote. */
function judgeFirstWords(opening: number, byte: number): boolean | undefined {
  if (byte === QUOTE || byte === (opening === OPEN_BRACE ? COLON : COMMA)) return true
  return isBareCharacter(byte) || isBlank(byte) ? undefined : false
}

function isBareCharacter(byte: number): boolean {
  return isWordCharacter(byte) || byte === DOT || byte === APOSTROPHE || byte === SLASH || byte === AT
}

/**
 * Whether a text that begins with a bracket would have opened a candidate in the middle of prose.
 *
 * @example
 * opensInProse('{"a":1}', false) // true
 * opensInProse('{}', false) // false
 */
export function opensInProse(text: string, loose: boolean): boolean {
  return opensAs(loose ? 'loose' : 'strict', text) === true
}

/** The same for any kind of opening; undefined if the text ends too early to decide. */
export function opensAs(kind: BracketRule, text: string): boolean | undefined {
  const judge = bracketCheck(kind, text.charCodeAt(0))
  for (let at = 1; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    const opens = unit === CURLY_QUOTE ? judgeCurly(judge) : judge(unit)
    if (opens !== undefined) return opens
  }
  return undefined
}

function judgeCurly(judge: (byte: number) => boolean | undefined): boolean | undefined {
  for (const byte of CURLY) {
    const opens = judge(byte)
    if (opens !== undefined) return opens
  }
  return undefined
}

/** `\u201c`, as a unit and in UTF-8. */
const CURLY_QUOTE = 0x201c
const CURLY = [0xe2, 0x80, 0x9c]

function opensObject(kind: BracketRule, byte: number): boolean {
  if (byte === QUOTE || byte === APOSTROPHE) return true
  return kind === 'document' && (byte === CLOSE_BRACE || isBracket(byte) || beginsOddly(byte))
}

function opensArray(kind: BracketRule, byte: number): boolean {
  if (byte === OPEN_BRACE) return true
  if (kind === 'strict') return false
  if (byte === QUOTE || byte === OPEN_BRACKET || byte === MINUS || isDigit(byte) || beginsLiteral(byte))
    return true
  if (kind !== 'document') return false
  return byte === CLOSE_BRACKET || byte === APOSTROPHE || byte === OPEN_PAREN || beginsOddly(byte)
}

/** A comment, a needless comma, another quote, or quotes that were escaped once too often: `{\"a\":1}`. */
function beginsOddly(byte: number): boolean {
  return ODD[byte] === 1
}

const ODD = /* @__PURE__ */ classTable([1, '/#\\,`<'])
