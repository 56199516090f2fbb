import { jsonValue } from '../../json/strict.ts'
import { isOpaqueName } from './names.ts'
import { isToken } from './shapes.ts'

/** Shorter words are not secrets, and longer ones are data. */
const MIN_WORD = 8
const MAX_WORD = 1024

/**
 * Where the word at the end of a text begins, if that has letters and digits, or letters of both cases: where
 * a text was cut off, it may be half of a key, which no shape fits any more. -1 if it is another one.
 */
export function cutWord(text: string): number {
  let from = text.length
  while (from > 0 && text.length - from < MAX_WORD && isToken[text.charCodeAt(from - 1)] === 1) from--
  const word = text.slice(from)
  const isMixed = [/\d/, /[a-z]/, /[A-Z]/].filter((kind) => kind.test(word)).length > 1
  return isMixed && word.length >= MIN_WORD ? from : -1
}

/** Agents nest what tells a piece no deeper: `params.update._meta`, `choices[0]`. */
const MAX_DEPTH = 3
/** Members of a record that are looked at: one with more counts as a piece. */
const MAX_LOOKED = 4096
/** Agents that call agents. */
const MAX_NESTED = 3
/** Values of an agent that are nested deeper are hidden as a whole. */
export const MAX_VALUE_DEPTH = 500

/**
 * The line without its texts, if it is a record that has only a piece of a text: a delta, a chunk, the state
 * of something that is not complete. A secret may be cut in two there, and no search finds it. What says
 * which record it is stays. Of a record that is not complete itself, everything goes: nothing tells what it
 * is. `clipped` is a line that was cut only to be shown: it goes if its start says that it is a piece.
 */
export function hidePieces(line: string, { clipped = false } = {}): string {
  const first = line.indexOf('{')
  if (first < 0) return isRest(line) ? stars(line.length) : line
  // Qwen has all records of a run in one list.
  const isList = line[first - 1] === '[' && isEmpty(line, first - 1)
  const [open, close] = isList ? [first - 1, line.lastIndexOf(']') + 1] : [first, line.lastIndexOf('}') + 1]
  const record = recordOf(line.slice(open, close))
  if (record) return withRecord(line, open, close, record, 1)
  const from = line.indexOf('{"', open)
  if (from < 0) return line
  const begins = !clipped && isEmpty(line, from)
  return begins || mentionsPiece(line) ? line.slice(0, from) + stars(line.length - from) : line
}

/** The line with its record written again, if that is a piece or has records in its texts that are. */
function withRecord(line: string, open: number, close: number, record: object, nested: number): string {
  const piece = Array.isArray(record) ? record.some(isPieceOrNone) : isPiece(record)
  const shown = mapTexts(record, piece ? overwritten : (text) => withoutRecords(text, nested))
  return shown === record ? line : line.slice(0, open) + JSON.stringify(shown) + line.slice(close)
}

/** The texts of a value without the pieces of records in it: an agent in a tool may have streamed. */
export function hideNestedPieces(value: unknown): unknown {
  return mapTexts(value, (text) => withoutRecords(text, 1))
}

/** The text with those of its lines overwritten that are pieces. */
function withoutRecords(text: string, nested: number): string {
  if (nested > MAX_NESTED) return text
  const kept: string[] = []
  let copied = 0
  // Few lines of the output of tools have a record: only these are cut out.
  for (let open = text.indexOf('{"'); open >= 0; ) {
    const end = text.indexOf('\n', open)
    const line = text.slice(open, end < 0 ? text.length : end)
    const close = line.lastIndexOf('}') + 1
    const record = close <= 0 ? undefined : recordOf(line.slice(0, close))
    const shown = record ? withRecord(line, 0, close, record, nested + 1) : line
    if (shown !== line) {
      kept.push(text.slice(copied, open), shown)
      copied = open + line.length
    }
    open = end < 0 ? -1 : text.indexOf('{"', end)
  }
  return copied === 0 ? text : kept.join('') + text.slice(copied)
}

/** A record with a piece of a text, and the same record with another text in its place. */
export interface TextPiece {
  readonly text: string
  /** What else is in the record: pieces of one message have it in common. */
  readonly of: string
  with(text: string): string
}

/** The piece of a text that a line is a record of; undefined for other lines. */
export function pieceIn(line: string): TextPiece | undefined {
  const record = mentionsPiece(line) && line.startsWith('{') ? recordOf(line.trimEnd()) : undefined
  if (!record || Array.isArray(record) || !isPiece(record)) return undefined
  // Each record has an id of its own in Claude Code's dialect and in Copilot's.
  const { uuid, id, parentId }: { uuid?: unknown; id?: unknown; parentId?: unknown } = record
  const own = [uuid, id, parentId]
  let [text, at, seen] = ['', -1, 0]
  const others: string[] = []
  mapTexts(record, (value, name) => {
    const place = seen++
    const isText = name !== undefined && !isOpaqueName(name) && !saysWhat(name, value)
    if (isText && value.length >= text.length) [text, at] = [value, place]
    else if (name !== undefined && !/^\d{4}-/.test(value) && !own.includes(value)) others.push(value)
    return value
  })
  if (at < 0) return undefined
  const made = (instead: string) => {
    let place = 0
    return mapTexts(record, (value) => (place++ === at ? instead : value))
  }
  const end = line.slice(line.trimEnd().length)
  return { text, of: others.join('\n'), with: (instead) => JSON.stringify(made(instead)) + end }
}

/** A text of a value: a key (`name` is undefined), the value of a name, or an item of a list (it is ''). */
type MapText = (text: string, name: string | undefined) => string

/** The value with other texts; the same object if none is another one. */
function mapTexts(value: unknown, map: MapText, name = '', depth = 0): unknown {
  if (typeof value === 'string') return map(value, name)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_VALUE_DEPTH) return '[redacted:nested]'
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => mapTexts(item, map, '', depth + 1))
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  let changed = false
  const entries = Object.entries(value).map(([key, item]) => {
    const made = [map(key, undefined), mapTexts(item, map, key, depth + 1)] as const
    changed ||= made[0] !== key || made[1] !== item
    return made
  })
  return changed ? Object.fromEntries(entries) : value
}

/** Stars instead of a text of a piece, unless it is a name or says which record it is. */
function overwritten(text: string, name: string | undefined): string {
  const isKept = name === undefined ? text.length <= 40 : name !== '' && saysWhat(name, text)
  return isKept ? text : stars(text.length)
}

//  …ghp_0123"}}
/** Whether a record ends here that did not begin on this line: on a terminal other output gets between. */
function isRest(line: string): boolean {
  return line.trimEnd().endsWith('}') && line.includes('"')
}

function recordOf(text: string): object | undefined {
  const value = text.length < 2 ? undefined : jsonValue(text)
  return typeof value === 'object' && value !== null ? value : undefined
}

/** Keys whose value, a word, says what a record is. */
const kindKeys: ReadonlySet<string> = new Set(
  'type subtype method sessionUpdate event kind object say contentType'.split(' '),
)
const kindWords = 'delta chunk partial stream update progress content_start content_block shell_output'.split(
  ' ',
)
const keyWords = 'delta chunk partial accumulated'.split(' ')
const done: ReadonlySet<unknown> = new Set(['completed', 'failed'])
/** What an update that tells the state of something else than a text is of. */
const stateWords = 'session command config option usage auth account mode limit'.split(' ')
const textKeys = ['text', 'content', 'output']

function isPieceOrNone(item: unknown): boolean {
  return typeof item !== 'object' || item === null || isPiece(item)
}

/** Whether a record has a piece, by the words of protocols: that covers unknown engines. */
function isPiece(record: object): boolean {
  // Cursor's pieces have only a time that the whole has not.
  if ('timestamp_ms' in record && 'message' in record && !('model_call_id' in record)) return true
  // Copilot says of records that its own sessions do not keep them: pieces, and notices.
  const isShort = 'ephemeral' in record && record.ephemeral === true
  let looked = 0
  let level: object[] = [record]
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++) {
    const below: object[] = []
    for (const value of level) {
      const isDone = 'status' in value && done.has(value.status)
      if (depth === 1 && isShort && textKeys.some((key) => key in value)) return true
      for (const [key, item] of Object.entries(value)) {
        if (++looked > MAX_LOOKED) return true
        if (item === null || item === false || item === '') continue
        if (hasWord(key, keyWords)) return true
        if (typeof item === 'object') below.push(item)
        else if (typeof item === 'string' && kindKeys.has(key) && isPieceKind(item, isDone)) return true
      }
    }
    level = below
  }
  return false
}

function isPieceKind(kind: string, isDone: boolean): boolean {
  if (!hasWord(kind, kindWords)) return false
  // The change of a file is an `update`, too.
  if (!hasWord(kind, ['update'])) return true
  return !isDone && kind !== 'update' && !hasWord(kind, stateWords)
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

/** The kind of a record, a role, a time, or an id that is one at sight. */
function saysWhat(key: string, value: string): boolean {
  if (value.length > 48) return false
  if (kindKeys.has(key) || key === 'role' || key === 'status') return /^[a-z_./-]{1,48}$/i.test(value)
  return /^[\da-f]{8}-[\da-f]{4}-[\da-f-]{22}$/i.test(value) || /^\d{4}-\d\d-\d\dT[\d:.]{1,16}Z?$/.test(value)
}

function stars(length: number): string {
  return '*'.repeat(length)
}
