/**
 * The first key that occurs twice in one object of a valid JSON text, down to two levels (the result and its
 * `changes`), or undefined. JSON.parse would silently use the last one, and an earlier reader may have
 * used the first.
 *
 * @example
 * duplicateKey('{"run_id":"7","run_id":"8"}') // 'run_id'
 */
export function duplicateKey(json: string): string | undefined {
  const open: Set<string>[] = []
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const c = json[at]
    if (c === '{' || c === '[') {
      depth++
      if (depth <= LEVELS) open[depth] = new Set()
    } else if (c === '}' || c === ']') depth--
    else if (c === '"') {
      const end = closingQuote(json, at)
      if (depth <= LEVELS && followedByColon(json, end + 1)) {
        // Escapes do not make another key: "\u0072un_id" is run_id.
        const key: string = JSON.parse(json.slice(at, end + 1))
        if (open[depth]?.has(key)) return key
        open[depth]?.add(key)
      }
      at = end
    }
  }
  return undefined
}

const LEVELS = 2

function closingQuote(json: string, from: number): number {
  let at = from + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at
}

function followedByColon(json: string, from: number): boolean {
  let at = from
  while (' \t\r\n'.includes(json[at] ?? '.')) at++
  return json[at] === ':'
}
