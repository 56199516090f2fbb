import { skipBlanks } from './tolerant-reader.ts'

//  callback_123({"a":1});
//               ^ from ^ to
/** Where the argument of a JSONP callback is, if the text is nothing else. */
export function callbackArgument(text: string): { from: number; to: number } | undefined {
  const to = text.lastIndexOf(')')
  if (to < 0 || !/^\)[\s;]*$/.test(text.slice(to, to + MAX_CALL))) return undefined
  const at = skipBlanks(text, 0)
  const call = callback.exec(text.slice(at, at + MAX_CALL))
  return call ? { from: at + call[0].length, to } : undefined
}

const MAX_CALL = 256
const callback = /^(?=[\w$.]{0,128}(?:callback|jsonp))[\w$.]+\s*\(\s*/i
