/** A piece of running text in Markdown, as plain data. It contains no HTML: what looks like HTML is text. */
export type MarkdownInline =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'break' }
  | {
      readonly type: 'emphasis' | 'strong' | 'strike'
      readonly children: readonly MarkdownInline[]
    }
  | {
      readonly type: 'link'
      readonly target: string
      /** True for http, https and mailto: only then may the target become an `href`. */
      readonly web: boolean
      readonly children: readonly MarkdownInline[]
    }
  | { readonly type: 'image'; readonly target: string; readonly alt: string }

/** Maximum nesting of marks; deeper ones stay text, so that renderers can recurse. */
const MAX_NESTING = 16
const MAX_TARGET = 4096

/** An open mark: `*`, `**`, `_`, `__`, `~~`, `[` or `![`, where it ends, and what came after it. */
interface Opener {
  readonly mark: string
  readonly end: number
  readonly children: MarkdownInline[]
}

/** The targets that a text defines (`[label]: target`), by their labels in the spelling of `linkLabel`. */
export type LinkTargets = ReadonlyMap<string, string>

const NO_TARGETS: LinkTargets = new Map()
const MAX_LABEL = 999

/** A label as it is compared: blanks and case do not matter. */
export function linkLabel(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase()
}

const kinds = { '*': 'emphasis', _: 'emphasis', '**': 'strong', __: 'strong', '~~': 'strike' } as const

/**
 * The running text of a paragraph, a heading or a cell. A line end is a break, as in a chat. A mark without
 * its partner is text. Linear time: each character is read a bounded number of times, whatever the text is.
 */
export function markdownInlines(text: string, targets = NO_TARGETS): MarkdownInline[] {
  const state: Reading = {
    text,
    targets,
    at: 0,
    from: 0,
    top: [],
    open: [],
    nextTicks: tickRuns(text),
    next: nextOf(text),
  }
  while (state.at < text.length) if (!readMark(state)) state.at++
  flush(state, state.at)
  unwind(state, 0)
  return state.top
}

interface Reading {
  readonly text: string
  readonly targets: LinkTargets
  /** The character to read next. */
  at: number
  /** Text from here on is not emitted yet. */
  from: number
  readonly top: MarkdownInline[]
  readonly open: Opener[]
  readonly nextTicks: (at: number, length: number) => number
  readonly next: (char: string, at: number) => number
}

/** Reads the mark at `at`. False if the character is text. */
function readMark(state: Reading): boolean {
  const char = state.text[state.at]!
  switch (char) {
    case '\\':
      return backslash(state)
    case '\n':
      return lineEnd(state)
    case '`':
      return code(state)
    case '*':
    case '_':
    case '~':
      return emphasis(state, char)
    case '!':
      return state.text[state.at + 1] === '[' && opens(state, '![')
    case '[':
      return opens(state, '[')
    case ']':
      return bracket(state)
    case '<':
      return angles(state)
    case '&':
      return entity(state)
    case 'h':
      return address(state)
    default:
      return false
  }
}

function put(state: Reading, piece: MarkdownInline): void {
  const list = state.open.at(-1)?.children ?? state.top
  const last = list.at(-1)
  if (piece.type === 'text' && last?.type === 'text')
    list[list.length - 1] = { type: 'text', text: last.text + piece.text }
  else list.push(piece)
}

function flush(state: Reading, to: number): void {
  if (to > state.from) put(state, { type: 'text', text: state.text.slice(state.from, to) })
}

/** Replaces the characters from `at` to `to` with a piece. */
function replace(state: Reading, to: number, piece?: MarkdownInline): true {
  flush(state, state.at)
  if (piece) put(state, piece)
  state.at = to
  state.from = to
  return true
}

/** Leaves this many characters as they are. */
function skip(state: Reading, count: number): true {
  state.at += count
  return true
}

/** Turns the openers above a depth back into text. */
function unwind(state: Reading, depth: number): void {
  while (state.open.length > depth) {
    const { mark, children } = state.open.pop()!
    put(state, { type: 'text', text: mark })
    for (const child of children) put(state, child)
  }
}

function opens(state: Reading, mark: string): boolean {
  if (state.open.length >= MAX_NESTING) return false
  replace(state, state.at + mark.length)
  state.open.push({ mark, end: state.at, children: [] })
  return true
}

function closes(state: Reading, mark: string, depth: number): void {
  replace(state, state.at + mark.length)
  unwind(state, depth + 1)
  const { children } = state.open.pop()!
  put(state, { type: kinds[mark as keyof typeof kinds], children })
}

function backslash(state: Reading): boolean {
  if (!isPunctuation(state.text[state.at + 1])) return false
  replace(state, state.at + 1)
  return skip(state, 1)
}

/** Blanks or a backslash before a line end request a break, which is there anyway. */
function lineEnd(state: Reading): true {
  const text = state.text
  let end = state.at
  while (end > state.from && text[end - 1] === ' ') end--
  if (end > state.from && text[end - 1] === '\\') end--
  flush(state, end)
  put(state, { type: 'break' })
  do state.at++
  while (text[state.at] === ' ')
  state.from = state.at
  return true
}

function code(state: Reading): true {
  const run = runLength(state.text, state.at)
  const end = state.nextTicks(state.at, run)
  if (end < 0) return skip(state, run)
  const inside = state.text.slice(state.at + run, end)
  return replace(state, end + run, { type: 'code', text: codeText(inside) })
}

function emphasis(state: Reading, char: string): true {
  const run = runLength(state.text, state.at)
  if ((char === '~' && run !== 2) || run > 3) return skip(state, run)
  const { canOpen, canClose } = flanks(state.text, state.at, run)
  for (let left = run; left > 0; ) {
    const [width, depth] = canClose ? partner(state.open, char, left) : [0, -1]
    const wide = left > 2 ? 1 : left
    if (depth >= 0) {
      closes(state, char.repeat(width), depth)
      left -= width
    } else if (canOpen && opens(state, char.repeat(wide))) left -= wide
    else return skip(state, left)
  }
  return true
}

//  **bold**, word      f(*args, *rest)      8*8*8      __init__.py
//  ^ opens ^ closes      ^ neither            ^ neither   ^ a name
/**
 * Whether marks may open or close emphasis: where CommonMark has it, but never inside a word, a name or an
 * expression. Between letters of scripts without blanks they may.
 */
function flanks(text: string, at: number, run: number): { canOpen: boolean; canClose: boolean } {
  const char = text[at]!
  const before = text[at - 1] ?? ' '
  const after = text[at + run] ?? ' '
  if (isAscii(before) && isAscii(after)) return { canOpen: false, canClose: false }
  const left = !isBlank(after) && (!isPunctuation(after) || isBlank(before) || isPunctuation(before))
  const right = !isBlank(before) && (!isPunctuation(before) || isBlank(after) || isPunctuation(after))
  const isCode = char === '_' ? isName(text, at, run) : isOperator(text, at, run)
  return {
    canOpen: left && !isCode && (char !== '_' || (before !== '"' && (!right || isPunctuation(before)))),
    canClose:
      right && !isCode && !'([{<,=/+&|'.includes(before) && (char !== '_' || !left || isPunctuation(after)),
  }
}

/**
 * `__init__`, `__tests__/a.ts`, `__SKILL_DONE__`: two underscores on both sides of one name, which may be a
 * word. To stress a single word one writes `**word**`.
 */
function isName(text: string, at: number, run: number): boolean {
  if (run !== 2) return false
  return (
    NAME.test(text.slice(at, at + MAX_NAME)) ||
    NAME_BEFORE.test(text.slice(Math.max(0, at - MAX_NAME), at + run + 1))
  )
}

const MAX_NAME = 80
const NAME = /^__[A-Za-z\d]+(?:_+[A-Za-z\d]+)*__(?![A-Za-z\d_])/
const NAME_BEFORE = /(?<![A-Za-z\d_])__[A-Za-z\d]+(?:_+[A-Za-z\d]+)*__(?:[^A-Za-z\d_])?$/

/** A pointer, a spread or a glob: after a call's parenthesis, a slash or an operator, or before a dot. */
function isOperator(text: string, at: number, run: number): boolean {
  const before = text[at - 1] ?? ' '
  const after = text[at + run] ?? ' '
  const isCall = before === '(' && isAscii(text[at - 2] ?? ' ')
  return (
    isCall ||
    before === '/' ||
    (run === 1 && '.,);=]/'.includes(after) && (isBlank(before) || before === '('))
  )
}

function bracket(state: Reading): boolean {
  const depth = state.open.findLastIndex(({ mark }) => mark === '[' || mark === '![')
  const found =
    depth < 0 ? undefined : (targetAt(state, state.at + 1) ?? definedAt(state, state.open[depth]!))
  if (!found) return false
  const [end, target] = found
  replace(state, end)
  unwind(state, depth + 1)
  const { mark, children } = state.open.pop()!
  if (mark === '![') put(state, { type: 'image', target, alt: markdownText(children) })
  else put(state, { type: 'link', target, web: WEB.test(target), children })
  return true
}

/** The end of `(target)` at an opening parenthesis, and the target; undefined if there is none. */
function targetAt(state: Reading, at: number): [end: number, target: string] | undefined {
  const text = state.text
  if (text[at] !== '(') return undefined
  let close = state.next(')', at)
  if (close < 0) return undefined
  const space = state.next(' ', at)
  const line = state.next('\n', at)
  if (line >= 0 && line < close) return undefined
  if (space >= 0 && space < close) {
    // (target "title"): the title is dropped.
    const quote = text[space + 1]
    if ((quote !== '"' && quote !== "'") || text[close - 1] !== quote || close - 1 === space + 1)
      return undefined
    return bounded(close + 1, text.slice(at + 1, space))
  }
  if (close - at > MAX_TARGET) return undefined
  // A pair of parentheses belongs to the target, as in addresses of Wikipedia.
  if (text.slice(at + 1, close).includes('(') && text[close + 1] === ')') close++
  return bounded(close + 1, text.slice(at + 1, close))
}

//  [text][label]   [label][]   [label]
//       ^ at             ^ at        ^ at
/** The end of a link to a target that is defined elsewhere, and the target. */
function definedAt(
  { text, at, targets }: Reading,
  { end }: Opener,
): [end: number, target: string] | undefined {
  if (targets.size === 0) return undefined
  const [whole = '', label = ''] = /^\[([^[\]]*)\]/.exec(text.slice(at + 1, at + MAX_LABEL)) ?? []
  const target = targets.get(linkLabel(label || text.slice(end, Math.min(at, end + MAX_LABEL))))
  return target === undefined ? undefined : bounded(at + 1 + whole.length, target)
}

function angles(state: Reading): boolean {
  const from = state.at + 1
  const end = isAddress(state.text, from) ? state.next('>', from) : -1
  const target = end < 0 ? '' : state.text.slice(from, Math.min(end, from + MAX_TARGET))
  if (end < 0 || target.length !== end - from || /[ \n<]/.test(target)) return false
  return replace(state, end + 1, link(target))
}

function address(state: Reading): boolean {
  const from = state.at
  if (!isAddress(state.text, from) || isWord(state.text[from - 1] ?? ' ')) return false
  const end = addressEnd(state.text, from)
  return replace(state, end, link(state.text.slice(from, end)))
}

function entity(state: Reading): boolean {
  const [whole, name] = ENTITY.exec(state.text.slice(state.at, state.at + MAX_ENTITY)) ?? []
  const text = characterOf(name)
  if (!whole || text === undefined) return false
  return replace(state, state.at + whole.length, { type: 'text', text })
}

/** The text alone, without marks; a break is a line end. */
export function markdownText(inlines: readonly MarkdownInline[]): string {
  let text = ''
  for (const inline of inlines) {
    if (inline.type === 'text' || inline.type === 'code') text += inline.text
    else if (inline.type === 'break') text += '\n'
    else text += inline.type === 'image' ? inline.alt : markdownText(inline.children)
  }
  return text
}

/** The width of the mark that these characters close, and the index of its opener; -1 for none. */
function partner(open: readonly Opener[], char: string, left: number): [width: number, depth: number] {
  for (let depth = open.length - 1; depth >= 0; depth--) {
    const { mark } = open[depth]!
    if (mark[0] === char && mark.length <= left) return [mark.length, depth]
  }
  return [0, -1]
}

function bounded(end: number, target: string): [number, string] | undefined {
  if (target.length > MAX_TARGET) return undefined
  return [end, target.replace(ENTITIES, (whole, name) => characterOf(name) ?? whole)]
}

const WEB = /^(?:https?:\/\/|mailto:)/i
const ENTITY = /^&(#?\w{1,8});/
const ENTITIES = /&(#?\w{1,8});/g
const MAX_ENTITY = 11

/** The names that agents write; all of them would be larger than the rest of the reader. */
const named: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', '\u00a0'],
  ['copy', '©'],
  ['hellip', '…'],
  ['mdash', '—'],
  ['ndash', '–'],
  ['bull', '•'],
  ['middot', '·'],
  ['times', '×'],
  ['rarr', '→'],
  ['larr', '←'],
])

/** Characters that move the cursor, hide or reorder: a renderer made the text safe before it was read. */
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/u

/** The character that an entity stands for: `amp`, `#38` or `#x26`. */
function characterOf(name = ''): string | undefined {
  if (name[0] !== '#') return named.get(name)
  const hex = name[1] === 'x' || name[1] === 'X'
  const digits = name.slice(hex ? 2 : 1)
  if (!(hex ? /^[\da-f]{1,6}$/i : /^\d{1,7}$/).test(digits)) return undefined
  const code = Number.parseInt(digits, hex ? 16 : 10)
  const character = code > 0x10ffff ? '\0' : String.fromCodePoint(code)
  return unsafe.test(character) ? '\ufffd' : character
}

function link(target: string): MarkdownInline {
  return { type: 'link', target, web: true, children: [{ type: 'text', text: target }] }
}

/** Positions of runs of backticks by length: a run without a partner needs no further search. */
function tickRuns(text: string): (at: number, length: number) => number {
  let runs: Map<number, number[]> | undefined
  const next = new Map<number, number>()
  const gather = () => {
    const found = new Map<number, number[]>()
    for (let at = text.indexOf('`'); at >= 0; ) {
      const length = runLength(text, at)
      const list = found.get(length)
      if (list) list.push(at)
      else found.set(length, [at])
      at = text.indexOf('`', at + length)
    }
    return found
  }
  return (at, length) => {
    runs ??= gather()
    const list = runs.get(length) ?? []
    let index = next.get(length) ?? 0
    while (index < list.length && list[index]! <= at) index++
    next.set(length, index)
    return list[index] ?? -1
  }
}

/** `indexOf` for positions that only grow: a hit is kept until it is passed. */
function nextOf(text: string): (char: string, at: number) => number {
  const found = new Map<string, number>()
  return (char, at) => {
    const known = found.get(char) ?? -2
    if (known === -1 || known >= at) return known
    const next = text.indexOf(char, at)
    found.set(char, next)
    return next
  }
}

/** Removes one blank on each side, so that code can begin with a backtick; a line end is a blank. */
function codeText(inside: string): string {
  const text = inside.replaceAll('\n', ' ')
  const padded = text.length > 2 && text.startsWith(' ') && text.endsWith(' ') && text.trim() !== ''
  return padded ? text.slice(1, -1) : text
}

function runLength(text: string, at: number): number {
  let end = at + 1
  while (text[end] === text[at]) end++
  return end - at
}

function isAddress(text: string, at: number): boolean {
  return text.startsWith('https://', at) || text.startsWith('http://', at)
}

function addressEnd(text: string, from: number): number {
  const last = Math.min(text.length, from + MAX_TARGET)
  let end = from
  while (end < last && !isBlank(text[end]!) && !'<>"`|'.includes(text[end]!)) end++
  // A sentence may end with the address, and a mark may close after it.
  const paired = text.slice(from, end).includes('(')
  while (".,;:!?'*_~]".includes(text[end - 1]!) || (text[end - 1] === ')' && !paired)) end--
  return end
}

function isBlank(char: string): boolean {
  return ' \n\t\u00a0'.includes(char)
}

function isPunctuation(char: string | undefined): boolean {
  return char !== undefined && char > ' ' && char <= '~' && !isWord(char)
}

/** A character of an ASCII name or number. */
function isAscii(char: string): boolean {
  return /[a-z\d_]/i.test(char)
}

function isWord(char: string): boolean {
  return /[a-z\d]/i.test(char) || char > '\u00bf'
}
