/**
 * Whether a fence with this info string and body is a payload: it is labelled json, json5 or jsonc, or it has
 * no label and its body begins with a bracket.
 *
 * @example
 * isPayloadFence('JSON title=x', '') // true
 */
export function isPayloadFence(info = '', body = ''): boolean {
  if (info === '') return /^[\s\ufeff]{0,4096}[{[]/.test(body.slice(0, 4100))
  const blank = info.search(/[ \t]/)
  const word = (blank < 0 ? info : info.slice(0, blank)).toLowerCase()
  return word === 'json' || word === 'json5' || word === 'jsonc'
}
