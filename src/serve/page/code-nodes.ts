import { button, make } from './element.ts'

/** Characters of one text to draw at once; a button shows the rest. */
const MAX_TEXT = 60_000
/** Characters to colour: more of them would take longer than a frame. */
const MAX_COLOURED = 20_000

/** Words of a dozen languages; a word that another language uses otherwise is coloured all the same. */
const keywords: ReadonlySet<string> = /* @__PURE__ */ new Set(
  'and as async await bool break case catch class const continue def default delete do elif else end enum except export extends false final finally fn for from func function if impl implements import in instanceof int interface is lambda let match mod module mut new nil none not null of or package pass private protected pub public raise readonly return self static string struct super switch then this throw true try type typeof undefined union use using var void where while with yield'.split(
    ' ',
  ),
)
const hashed = new Set('py python rb ruby sh bash zsh shell yaml yml toml pl r'.split(' '))
const slashed = new Set(
  'c cc cpp cs css go h hpp java javascript js json jsonc jsx kt mjs cjs php rs rust scala scss swift ts tsx typescript'.split(
    ' ',
  ),
)

// A comment, a text in quotes, a number or a word. Bounded, so that an open quote is not looked for all day.
const HASHED =
  /(#[^\n]*)|("(?:[^"\\\n]|\\.){0,400}"|'(?:[^'\\\n]|\\.){0,400}')|(\b\d[\w.]{0,40})|[A-Za-z_]\w{0,80}/g
const SLASHED =
  /(\/\/[^\n]*|\/\*[^*]{0,2000}\*\/)|("(?:[^"\\\n]|\\.){0,400}"|'(?:[^'\\\n]|\\.){0,400}'|`(?:[^`\\]|\\.){0,2000}`)|(\b\d[\w.]{0,40})|[A-Za-z_]\w{0,80}/g

/** The language of a file, by its ending. */
export function languageOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).toLowerCase()
}

/** Code with its comments, texts, numbers and keywords coloured; unchanged if the language is not known. */
export function coloured(code: string, language: string): (Node | string)[] {
  const pattern = hashed.has(language) ? HASHED : slashed.has(language) ? SLASHED : undefined
  if (!pattern || code.length > MAX_COLOURED) return [code]
  const nodes: (Node | string)[] = []
  let done = 0
  for (const match of code.matchAll(pattern)) {
    const [text, comment, quoted, number] = match
    const kind = comment
      ? 'comment'
      : quoted
        ? 'quoted'
        : number
          ? 'number'
          : keywords.has(text)
            ? 'keyword'
            : ''
    if (kind === '') continue
    nodes.push(code.slice(done, match.index), make('span', kind, text))
    done = match.index + text.length
  }
  return [...nodes, code.slice(done)]
}

/** A text in a separate box; a very long one only in part, until the reader asks for the rest. */
export function codeText(text: string, language = ''): Node[] {
  const frame = make('pre', { tabindex: 0 }, ...coloured(text.slice(0, MAX_TEXT), language))
  if (text.length <= MAX_TEXT) return [frame]
  const more = button(
    { class: 'more' },
    () => {
      frame.append(text.slice(MAX_TEXT))
      more.remove()
    },
    `Show ${(text.length - MAX_TEXT).toLocaleString()} more characters`,
  )
  return [frame, more]
}
