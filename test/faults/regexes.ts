/** A regular expression of a source text, and the line it is on. */
export interface Found {
  readonly regex: RegExp
  readonly line: number
}

const blank = /(?:^#!.*|\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y
const wordOrString = /[\w$]+|'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"/y
const literal = /\/((?:[^\\/[\n]|\\.|\[(?:[^\]\\]|\\.)*\])+)\/([a-z]*)/y
const templateText = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y
/** After these a slash begins a regular expression; after others it divides. */
const beforeLiteral = /^(?:return|typeof|case|in|of|await|yield|[^\w$)\]}'"`])$/

/**
 * The regular expressions of a source text. Throws at `RegExp(…)`: what is made at run time cannot be tested.
 */
export function regexesIn(code: string): Found[] {
  const found: Found[] = []
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(code)
    at += match?.[0].length ?? 0
    return match
  }
  const lineAt = (index: number) => code.slice(0, index).split('\n').length
  const readCode = (): void => {
    let braces = 0
    for (let before = ';'; at < code.length; ) {
      if (take(blank)) continue
      const regex = beforeLiteral.test(before) ? take(literal) : null
      if (regex) found.push({ regex: new RegExp(regex[1]!, regex[2]), line: lineAt(regex.index) })
      if (before === 'RegExp' && code[at] === '(') throw new Error(`RegExp() in line ${lineAt(at)}`)
      before = (regex ?? take(wordOrString))?.[0] ?? code[at++]!
      if (before === '`') while (take(templateText)?.[0].endsWith('{')) readCode()
      if (before === '{') braces++
      if (before === '}' && braces-- === 0) return
    }
  }
  readCode()
  return found
}
