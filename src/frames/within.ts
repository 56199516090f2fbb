/*
 * What a bracket in prose is a piece of, or used for, by the text around it. Pure text: the scanner keeps
 * what precedes a bracket, and asks once for each.
 */

/** How much of the text before a bracket is looked at. */
export const MAX_BEFORE = 512

//  User(name="x", address={…})   <parameter=a>{…}   | 1 | {…} |   "{" + k + "}"   for x in […]
/**
 * Whether the bracket that begins `text` is a piece of something that is not JSON: an argument, an element of
 * a tuple, a parameter, an attribute, a cell of a table, an entry of a TOML table, a string of code, or of a
 * broken document. `before` has at most the 512 bytes before it, `after` the rest of its line, or, if it is
 * assigned to a name, of two lines, as Latin-1.
 *
 * @example
 * isPiece('User(name="x", address=', '{"city": "Paris"}') // true
 * isPiece('The answer (as JSON): ', '{"a": 1}') // false
 */
export function isPiece(before: string, text: string, after = ''): boolean {
  const last = before.trimEnd().at(-1)
  const head = before.slice(-400)
  if (IN_TAG.test(head) || (after[0] === '>' && IN_REPR.test(head))) return true
  if (TEMPLATES.some(([opener, closer]) => before.lastIndexOf(opener) > before.lastIndexOf(closer)))
    return true
  switch (last) {
    case '(':
    case ',':
    case '=':
    case '[':
      return isArgument(before) || (last === '=' && isSetting(before, after))
    case ':':
      return isArgument(before) || IS_KEY.test(head) || IN_YAML.test(before)
    case '{':
      return /\{\{\s{1,99}$/.test(before) && after.includes('}}')
    case '>':
      return isParameter(before, after)
    case '|':
      return isCell(before)
    case '"':
    case "'":
      if (!before.endsWith(last)) return false
      return (
        isLiteral(text, last) ||
        JOINED[last].test(text) ||
        IS_OPERAND.test(after) ||
        IN_STATEMENT.test(head) ||
        isMember(before.slice(0, -1)) ||
        isTextAmongOthers(before.slice(0, -1), after)
      )
    default:
      return text[0] === '[' && LOOP_HEAD.test(before.slice(-MAX_HEAD))
  }
}

//  “x”: {"a": 1}     «x»: {"a": 1}
/** As Latin-1. No backtick: files are named in backticks. */
const IS_KEY = /(?:\xe2\x80[\x99\x9d]|\xc2\xbb)\s{0,99}:\s{0,99}$/
//  ```yaml⏎name: x⏎meta: {"a": 1}
/** The value of a key in a fence that is open, of which it is only a part. */
const IN_YAML =
  /(?:^|\n)[ \t>]{0,99}(?:`{3,9}|~{3,9})ya?ml[^\n]{0,99}\n(?:(?![ \t>]{0,99}(?:```|~~~))[^\n]{0,512}\n){0,99}[^\n]{0,512}:\s{0,99}$/i
//  <Chart data={[1, 2]}/>     <co>Paris</co: 0:[1]>      <a data-x='{"a": 1}'>
const IN_TAG = /<\/?[A-Za-z][\w.:-]{0,63}\s[^<>\n]{0,300}[=:]\{?["']?$/
//  <Book {"year": 1815}>      #<Book 7 {"year": 1815}>
const IN_REPR = /<[A-Za-z][^<>\n]{0,300}[ \t]$/
/** Code in a template, and `｛` with `｝`, as Latin-1. */
const TEMPLATES = [
  ['{%', '%}'],
  ['<%', '%>'],
  ['\xef\xbd\x9b', '\xef\xbd\x9d'],
] as const
const MAX_HEAD = 80
const LOOP_HEAD =
  /(?:^|[\s;({])for(?:each)?(?:\s?\(|\s)\s?(?:(?:const|let|var|my) )?[$\w]{1,24}(?:, ?[$\w]{1,24})? (?:in|of|:?= range) $/

//  OrderedDict([("a", {…})])      (1, {…})       (see {…})    f(x) gave {…}
//             ^ a call            ^ a tuple      ^ words         ^ closed
/** Whether it is in the parentheses of a call, or after another element of a tuple. */
function isArgument(before: string): boolean {
  if (!before.includes('(')) return false
  const plain = before
    .slice(before.lastIndexOf('\n\n') + 1)
    .replace(/"[^"\n]*"/g, (text) => text.replace(/[()]/g, '_'))
  let depth = 0
  for (let at = plain.length - 1; at >= 0; at--) {
    if (plain[at] === ')') depth++
    else if (plain[at] === '(' && depth > 0) depth--
    else if (plain[at] === '(') {
      const inside = plain.slice(at + 1)
      if (/[\w$\])>\x80-\xff]/.test(plain[at - 1] ?? '')) return true
      if (
        /^\s{0,99}(?:["'\d[{+-]|(?:[Tt]rue|[Ff]alse|None|null)\b)/.test(inside) &&
        /,\s{0,99}$/.test(inside)
      )
        return true
    }
  }
  return false
}

//  <row><id>1</id><data>{…}</data></row>      <draft>{…}</draft><answer>{…}</answer>
//                       ^ beside another      ^ wrappings        ^
/** Whether it is in an element that is a parameter of a call, or one of several of the same parent. */
function isParameter(before: string, after: string): boolean {
  const open: { readonly name: string; hasChild: boolean }[] = [{ name: '', hasChild: false }]
  for (const [, closes, name = ''] of before.matchAll(ELEMENT)) {
    if (!closes) open.push({ name, hasChild: false })
    else if (open.some((element) => element.name === name)) {
      while (open.pop()?.name !== name);
      const parent = open.at(-1)
      if (parent) parent.hasChild = true
    }
  }
  const name = open.at(-1)?.name ?? ''
  if (!/<[^<>\n/][^<>\n]{0,300}>\s{0,99}$/.test(before.slice(-400)) || name === '') return false
  if (/^(?:parameter|param|arg|argument|arg_value)$/i.test(name)) return true
  if (open.length < 3 || /^(?:pre|code|answer|final|output|result|response|\w+_calls?)$/i.test(name))
    return false
  return open.at(-2)!.hasChild || IS_BESIDE.test(after)
}

const IS_BESIDE = /^[ \t]{0,9}<\/[^<>[\]{}\n]{1,99}>\s{0,99}<[A-Za-z_]/
/** Its name may have the marks of a model before it: `<｜DSML｜parameter name="x">`. */
const ELEMENT =
  /<(\/?)(?:[|\x80-\xff][\w|\x80-\xff]{0,40}[|\x80-\xff])?([A-Za-z_][\w:.-]{0,63})(?:[\s=][^<>\n]{0,200})?>/g

/** Whether it is in a row of a table with other cells. */
function isCell(before: string): boolean {
  const lines = before.slice(before.lastIndexOf('\n\n') + 1).split('\n')
  const row = lines.pop() ?? ''
  if (!row.trimStart().startsWith('|')) return false
  return row.split('|').length > 2 || lines.some((line) => /^\s{0,99}\|[ :-]{1,99}\|[ :-]{1,99}/.test(line))
}

//  port = 2              [server]             a = {…}
//  user = {…}            opts = {…}           b = {…}
//         ^ a setting           ^ an entry        ^ one of two values
/** Whether it is assigned to a name, with other settings on the lines around it, or under a TOML head. */
function isSetting(before: string, after: string): boolean {
  const lines = before.split('\n')
  if (!/^\s{0,99}[\w.-]{1,99} ?=/.test(lines.pop() ?? '')) return false
  while (/^\s{0,99}[\w.-]{1,99} ?= ?[{[]/.test(lines.at(-1) ?? '')) lines.pop()
  const above = lines.at(-1) ?? ''
  return /^\s{0,99}\[[\w.-]{1,99}\]\s{0,9}$/.test(above) || SETTING.test(above) || SETTING_BELOW.test(after)
}

const SETTING = /^\s{0,99}[\w.-]{1,99} ?= ?(?:["'\d+-]|[Tt]rue\b|[Ff]alse\b)[^\n]{0,400}$/
const SETTING_BELOW = /^[ \t;\r]{0,9}\n[ \t]{0,99}[\w.-]{1,99} ?= ?(?:["'\d+-]|[Tt]rue\b|[Ff]alse\b)/

//  "{" + k + ":" + v + "}"      "{"a": 1}"
//    ^ a string of code           ^ a document in quotes
function isLiteral(text: string, quote: string): boolean {
  return text[1] === quote && /[\s+.,;)&|]/.test(text[2] ?? '')
}

//  '{"a": ' + x + '}'      '{"a": "' . $x . '"}'      '{"a": "'$x'"}'
/** The string ends inside of the object, and another one is joined to it. */
const JOINED = {
  '"': /"\s{0,3}(?:(?:\+|\.\.?|&|\|\|)\s{0,3}[\w$("']|\$[\w{(])/,
  "'": /'\s{0,3}(?:(?:\+|\.\.?|&|\|\|)\s{0,3}[\w$("']|\$[\w{(])/,
}

//  execute(sql, ('{"a": 1}', 2))      post(url, data='{"a": 1}')      JSON.parse('{"a": 1}')
//                ^ beside others                      ^                           ^ alone
/** Whether a string that holds it is an argument, or an element of a tuple, beside others. */
function isTextAmongOthers(before: string, after: string): boolean {
  if (/[,=]\s{0,99}$/.test(before)) return isArgument(before)
  const isFirst = /[\w$\])]\($/.test(before) ? /^["']\s{0,9},/ : /^["']\s{0,9},\s{0,9}["'\d[{(+-]/
  return before.endsWith('(') && isFirst.test(after)
}

//  '{"a": 1}'::jsonb     '{"a": 1}' ->> 'a'     "{…}" + rest
const IS_OPERAND = /^["'](?:[ \t]?(?:\+|\|\||->|::)|[ \t]\.\s)/

//  curl -d '{"a": 1}' x      UPDATE t SET d = '{"a": 1}' WHERE id = 3
const IN_STATEMENT =
  /(?:(?:^|\s)--?[A-Za-z][\w-]{0,40}(?:\s{1,9}|=)|\b(?:SELECT|SET|VALUES|WHERE)\s[^\n;]{0,200})["']$/

/** Whether a bracket after this text is the value of a key without an opening bracket: part of a whole. */
export function isMember(before: string): boolean {
  return /["']\s{0,99}:\s{0,99}$/.test(before.slice(-200))
}

/** Whether an input begins with a key, like a document without its bracket: no object in it counts. */
export function beginsWithKey(start: string): boolean {
  return /^[\s\0\ufeff]{0,4096}"[^"\n]{0,256}"\s{0,9}:/.test(start)
}
