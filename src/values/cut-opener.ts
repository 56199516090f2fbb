/** An opener at the very end of a text, and whether it marks its value as the answer. */
export interface CutOpener {
  readonly text: string
  readonly marked: boolean
}

//  Draft: {"a":1}⏎Final: {       Final:⏎```js       Final: <jso
//                        ^ cut before anything shows that a value opens
/**
 * What a text ends with, if the input may have cut it right where a value begins. `tag` is the one that
 * counts; `prose`: a bracket or a fence may begin one, too. The text may be only the end of the input.
 *
 * @example
 * cutOpener('Final: {', 'json', true) // { text: '{', marked: false }
 * cutOpener('function f() {', 'json', true) // undefined
 */
export function cutOpener(text: string, tag: string, prose: boolean): CutOpener | undefined {
  const mark = HALF_TAG.exec(text)?.[1]
  if (mark !== undefined && `<${tag}>`.startsWith(mark)) return { text: mark, marked: true }
  const opener = prose ? OPENER.exec(text)?.[1] : undefined
  return opener === undefined ? undefined : { text: opener, marked: opener[0] === '`' }
}

const HALF_TAG = /(<[^<>\s]{1,64}>?)\s*$/
/** A bracket, or half of a json fence: at the start of a line, after a colon or as code, in any list. */
const OPENER =
  /(?:^|[\n:：=>*`]|\n[ \t]*[-+] )[ \t\r]*((?:```(?:json[5c]?)?[ \t]*)?[{[]\s*|```j(?:s(?:on?)?)?[ \t]*)$/

/** Whether a text ends inside a block of the tag, however little is in it. */
export function endsInTag(text: string, tag: string): boolean {
  const at = text.lastIndexOf(`<${tag}>`)
  if (at < 0 || text.includes(`</${tag}>`, at)) return false
  return (
    /(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, at - 64), at)) &&
    /^[ \t\r]*(?:\n|$)/.test(text.slice(at + tag.length + 2))
  )
}
