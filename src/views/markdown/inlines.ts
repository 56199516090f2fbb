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

/** An open mark: `*`, `**`, `_`, `__`, `~~`, `[` or `![`, and what came after it. */
interface Opener {
  readonly mark: string
  readonly children: MarkdownInline[]
}

const kinds = { '*': 'emphasis', _: 'emphasis', '**': 'strong', __: 'strong', '~~': 'strike' } as const

/**
 * The running text of a paragraph, a heading or a cell. A line end is a break, as in a chat. A mark without
 * its partner is text. Linear time: each character is read a bounded number of times, whatever the text is.
 */
export function markdownInlines(text: string): MarkdownInline[] {
  const top: MarkdownInline[] = []
  const open: Opener[] = []
  const ticks = tickRuns(text)
  const nextClose = nextOf(text, ')')
  const nextSpace = nextOf(text, ' ')
  const nextLine = nextOf(text, '\n')
  const nextAngle = nextOf(text, '>')
  /** Text from here on is not emitted yet. */
  let from = 0
  let i = 0

  const children = () => open.at(-1)?.children ?? top
  const put = (piece: MarkdownInline) => {
    const list = children()
    const last = list.at(-1)
    if (piece.type === 'text' && last?.type === 'text')
      list[list.length - 1] = { type: 'text', text: last.text + piece.text }
    else list.push(piece)
  }
  const flush = (to: number) => {
    if (to > from) put({ type: 'text', text: text.slice(from, to) })
  }
  /** Replaces the characters from `i` to `to` with a piece. */
  const replace = (to: number, piece?: MarkdownInline) => {
    flush(i)
    if (piece) put(piece)
    i = to
    from = to
  }
  /** Turns the openers above a depth back into text. */
  const unwind = (depth: number) => {
    while (open.length > depth) {
      const { mark, children } = open.pop()!
      put({ type: 'text', text: mark })
      for (const child of children) put(child)
    }
  }
  const opens = (mark: string) => {
    if (open.length >= MAX_NESTING) return false
    replace(i + mark.length)
    open.push({ mark, children: [] })
    return true
  }
  const closes = (mark: string, depth: number) => {
    replace(i + mark.length)
    unwind(depth + 1)
    const { children } = open.pop()!
    put({ type: kinds[mark as keyof typeof kinds], children })
  }

  const emphasis = (char: string) => {
    const run = runLength(text, i)
    if (char === '~' && run !== 2) return skip(run)
    const before = text[i - 1] ?? ' '
    const after = text[i + run] ?? ' '
    const canOpen = !isBlank(after) && (char !== '_' || !isWord(before))
    const canClose = !isBlank(before) && (char !== '_' || !isWord(after))
    if (run > 3) return skip(run)
    for (let left = run; left > 0; ) {
      const [width, depth] = canClose ? partner(open, char, left) : [0, -1]
      if (depth >= 0) {
        closes(char.repeat(width), depth)
        left -= width
      } else if (canOpen && opens(char.repeat(left > 2 ? 1 : left))) {
        left -= left > 2 ? 1 : left
      } else return skip(left)
    }
  }
  const skip = (count: number) => {
    i += count
  }

  const code = () => {
    const run = runLength(text, i)
    const end = ticks.after(i, run)
    if (end < 0) return skip(run)
    replace(end + run, { type: 'code', text: codeText(text.slice(i + run, end)) })
  }

  /** The end of `(target)` at an opening parenthesis, and the target; undefined if there is none. */
  const targetAt = (at: number): [end: number, target: string] | undefined => {
    if (text[at] !== '(') return undefined
    let close = nextClose(at)
    if (close < 0) return undefined
    const space = nextSpace(at)
    const line = nextLine(at)
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

  const bracket = () => {
    const depth = open.findLastIndex(({ mark }) => mark === '[' || mark === '![')
    const found = depth < 0 ? undefined : targetAt(i + 1)
    if (!found) return skip(1)
    const [end, target] = found
    replace(end)
    unwind(depth + 1)
    const { mark, children } = open.pop()!
    if (mark === '![') put({ type: 'image', target, alt: markdownText(children) })
    else put({ type: 'link', target, web: isWeb(target), children })
  }

  while (i < text.length) {
    const char = text[i]!
    switch (char) {
      case '\\':
        if (isPunctuation(text[i + 1])) {
          replace(i + 1)
          i++
        } else skip(1)
        break
      case '\n': {
        // Blanks or a backslash before a line end request a break, which is there anyway.
        let end = i
        while (end > from && text[end - 1] === ' ') end--
        if (end > from && text[end - 1] === '\\') end--
        flush(end)
        from = i
        put({ type: 'break' })
        i++
        while (text[i] === ' ') i++
        from = i
        break
      }
      case '`':
        code()
        break
      case '*':
      case '_':
      case '~':
        emphasis(char)
        break
      case '!':
        if (text[i + 1] !== '[' || !opens('![')) skip(1)
        break
      case '[':
        if (!opens('[')) skip(1)
        break
      case ']':
        bracket()
        break
      case '<': {
        const end = isAddress(text, i + 1) ? nextAngle(i) : -1
        const target = end < 0 ? '' : text.slice(i + 1, Math.min(end, i + 1 + MAX_TARGET))
        if (end < 0 || target.length !== end - i - 1 || hasBlank(target)) skip(1)
        else replace(end + 1, link(target))
        break
      }
      case 'h':
        if (isAddress(text, i) && !isWord(text[i - 1] ?? ' ')) {
          const end = addressEnd(text, i)
          replace(end, link(text.slice(i, end)))
        } else skip(1)
        break
      default:
        skip(1)
    }
  }
  flush(i)
  unwind(0)
  return top
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

/**
 * The width of the mark that a run of these characters closes, and the index of its opener in the stack; -1
 * for none.
 */
function partner(open: readonly Opener[], char: string, left: number): [width: number, depth: number] {
  for (let depth = open.length - 1; depth >= 0; depth--) {
    const { mark } = open[depth]!
    if (mark[0] === char && mark.length <= left) return [mark.length, depth]
  }
  return [0, -1]
}

function bounded(end: number, target: string): [number, string] | undefined {
  return target.length > MAX_TARGET ? undefined : [end, target]
}

function link(target: string): MarkdownInline {
  return { type: 'link', target, web: true, children: [{ type: 'text', text: target }] }
}

/** Positions of runs of backticks by length: a run without a partner needs no further search. */
function tickRuns(text: string): { after(at: number, length: number): number } {
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
  return {
    after(at, length) {
      runs ??= gather()
      const list = runs.get(length) ?? []
      let index = next.get(length) ?? 0
      while (index < list.length && list[index]! <= at) index++
      next.set(length, index)
      return list[index] ?? -1
    },
  }
}

/** `indexOf` for positions that only grow: a hit is kept until it is passed. */
function nextOf(text: string, char: string): (at: number) => number {
  let found = -2
  return (at) => {
    if (found === -1 || found >= at) return found
    found = text.indexOf(char, at)
    return found
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

function isWeb(target: string): boolean {
  const head = target.slice(0, 8).toLowerCase()
  return head.startsWith('https://') || head.startsWith('http://') || head.startsWith('mailto:')
}

function isAddress(text: string, at: number): boolean {
  return text.startsWith('https://', at) || text.startsWith('http://', at)
}

function addressEnd(text: string, from: number): number {
  let end = from
  while (
    end < text.length &&
    end - from < MAX_TARGET &&
    !isBlank(text[end]!) &&
    !'<>"`|'.includes(text[end]!)
  )
    end++
  // A sentence may end with the address, and a mark may close after it.
  const paired = text.slice(from, end).includes('(')
  while (".,;:!?'*_~]".includes(text[end - 1]!) || (text[end - 1] === ')' && !paired)) end--
  return end
}

function hasBlank(text: string): boolean {
  return text.includes(' ') || text.includes('\n') || text.includes('<')
}

function isBlank(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\u00a0'
}

function isPunctuation(char: string | undefined): boolean {
  if (char === undefined || char > '~') return false
  return char > ' ' && !isWord(char)
}

function isWord(char: string): boolean {
  return (
    (char >= 'a' && char <= 'z') ||
    (char >= 'A' && char <= 'Z') ||
    (char >= '0' && char <= '9') ||
    char > '\u00bf'
  )
}
