import { stringEnd } from '../json/balanced.ts'

/** Words that are shorter are no secret, and longer ones are data. */
const MIN_WORD = 8
const MAX_WORD = 1024

/**
 * Where the word at the end of a text begins, if that has letters and digits, or letters of both cases: where a text was cut off,
 * it may be half of a key, which no shape fits any more. -1 if it is another one.
 */
export function cutWord(text: string): number {
  let from = text.length
  let [digits, small, capital] = [false, false, false]
  for (; from > 0 && text.length - from < MAX_WORD; from--) {
    const unit = text.charCodeAt(from - 1)
    if (unit >= 48 && unit <= 57) digits = true
    else if (unit >= 97 && unit <= 122) small = true
    else if (unit >= 65 && unit <= 90) capital = true
    else if (!'+/_-=.~'.includes(text[from - 1]!)) break
  }
  const mixed = Number(digits) + Number(small) + Number(capital) > 1
  return mixed && text.length - from >= MIN_WORD ? from : -1
}

/** Agents nest what tells a piece no deeper: `params.update._meta`, `choices[0]`. */
const MAX_DEPTH = 3
/** Members of a record that are looked at. The kind of a record comes first in it, or at least before long lists. */
const MAX_LOOKED = 4096

/**
 * The line with its texts overwritten, if it is a record that has only a piece of a text: a delta, a chunk, the state of something that is
 * not complete. A secret may be cut in two there, and no search finds it. What says which record it is stays; so does the length.
 * Of a record that is not complete itself, everything goes: nothing tells what it is. `clipped` is a line that was cut only to be
 * shown: it goes if its start says that it is a piece.
 */
export function hidePieces(line: string, { clipped = false } = {}): string {
  const open = line.indexOf('{')
  if (open < 0) return isRest(line) ? stars(line.length) : line
  const close = line.lastIndexOf('}') + 1
  const text = line.slice(open, close)
  const record = recordOf(text)
  if (record) return isPiece(record) ? line.slice(0, open) + starred(text) + line.slice(close) : line
  const from = line.indexOf('{"', open)
  if (from < 0) return line
  const begins = !clipped && isEmpty(line, from)
  return begins || mentionsPiece(line) ? line.slice(0, from) + stars(line.length - from) : line
}

//  …ghp_0123"}}
/** Whether a record ends here that did not begin on this line: on a terminal other output gets between. */
function isRest(line: string): boolean {
  return line.trimEnd().endsWith('}') && line.includes('"')
}

function recordOf(text: string): object | undefined {
  if (text.length < 2) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** Keys whose value, a word, says what a record is. */
const kindKeys: ReadonlySet<string> = new Set(
  'type subtype method sessionUpdate event kind object say contentType'.split(' '),
)
const kindWords = 'delta chunk partial stream update progress content_start content_block shell_output'.split(
  ' ',
)
const keyWords = 'delta chunk partial accumulated ephemeral'.split(' ')
const done: ReadonlySet<unknown> = new Set(['completed', 'failed'])

/** Whether a record has a piece, by the words that protocols have for it: those of an engine nobody has seen yet, too. */
function isPiece(record: object): boolean {
  // Cursor's pieces have only a time that the whole has not.
  if ('timestamp_ms' in record && 'message' in record && !('model_call_id' in record)) return true
  let looked = 0
  let level: object[] = [record]
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++) {
    const below: object[] = []
    for (const value of level) {
      const isDone = 'status' in value && done.has(value.status)
      for (const [key, item] of Object.entries(value)) {
        if (++looked > MAX_LOOKED) return false
        if (item === null || item === false || item === '') continue
        if (hasWord(key, keyWords)) return true
        if (typeof item === 'object') below.push(item)
        else if (typeof item === 'string' && kindKeys.has(key) && hasWord(item, kindWords)) {
          if (!isDone || !hasWord(item, ['update'])) return true
        }
      }
    }
    level = below
  }
  return false
}

function hasWord(name: string, words: readonly string[]): boolean {
  if (name.length > 80) return false
  const lower = name.toLowerCase()
  return words.some((word) => lower.includes(word))
}

/** As far as the start of a line tells. */
function mentionsPiece(line: string): boolean {
  const head = line.slice(0, 4096).toLowerCase()
  return kindWords.some((word) => head.includes(word)) || keyWords.some((word) => head.includes(word))
}

//  \u001b[0m{"type":"assistant","mess
//           ^ at
/** Whether nothing but blanks and the escapes of a terminal are before this place. */
function isEmpty(line: string, at: number): boolean {
  return line.slice(0, at).trim() === '' || (at < 64 && line.trimStart().startsWith('\u001b'))
}

/** The record with its strings overwritten, but for keys and what says which record it is. */
function starred(text: string): string {
  const pieces: string[] = []
  let copied = 0
  let key = ''
  /** Where the value of the key begins. */
  let value = -1
  for (let at = text.indexOf('"'); at >= 0; ) {
    const end = stringEnd(text, at)
    if (end < 0) break
    const inner = text.slice(at + 1, end)
    const colon = afterBlanks(text, end + 1)
    const isKey = text[colon] === ':'
    const shown = isKey ? inner.length <= 40 : at === value && saysWhat(key, inner)
    if (!shown) {
      pieces.push(text.slice(copied, at + 1), stars(inner.length))
      copied = end
    }
    key = isKey ? inner : ''
    value = isKey ? afterBlanks(text, colon + 1) : -1
    at = text.indexOf('"', end + 1)
  }
  return pieces.join('') + text.slice(copied)
}

function afterBlanks(text: string, at: number): number {
  while (text[at] === ' ' || text[at] === '\t') at++
  return at
}

/** The kind of a record, a role, a time, or an id that is one at sight. */
function saysWhat(key: string, value: string): boolean {
  if (value.length > 48) return false
  if (kindKeys.has(key) || key === 'role' || key === 'status') return /^[a-z_./-]{1,48}$/i.test(value)
  return /^[\da-f]{8}-[\da-f]{4}-[\da-f-]{22}$/i.test(value) || /^\d{4}-\d\d-\d\dT[\d:.]{1,16}Z?$/.test(value)
}

function stars(length: number): string {
  return '*'.repeat(length)
}
