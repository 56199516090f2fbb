/** How far into a JSON document a scan has come. */
export interface Balance {
  depth: number
  inString: boolean
  /** The last character was a backslash inside a string. */
  escaped: boolean
}

export function balance(): Balance {
  return { depth: 0, inString: false, escaped: false }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Goes on with a document over one more piece of text. Answers the position after the closing bracket,
 * `inside` if it is not there yet, or `broken` at a character that no JSON has outside a string.
 */
export function scan(text: string, state: Balance): number | 'inside' | 'broken' {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (state.inString) {
      if (state.escaped) state.escaped = false
      else if (unit === BACKSLASH) state.escaped = true
      else if (unit === QUOTE) state.inString = false
    } else if (unit === QUOTE) state.inString = true
    else if (unit === 0x7b || unit === 0x5b) state.depth++
    else if (unit === 0x7d || unit === 0x5d) {
      if (--state.depth === 0) return at + 1
      if (state.depth < 0) return 'broken'
    } else if (!structural(unit)) return 'broken'
  }
  return 'inside'
}

/** Blanks, `,`, `:`, and what numbers, `true`, `false` and `null` are made of. */
function structural(unit: number): boolean {
  if (unit === 0x2c || unit === 0x3a || unit === 0x20 || unit === 9 || unit === 10 || unit === 13) return true
  if (unit >= 0x30 && unit <= 0x39) return true
  return '+-.eEtrufalsn'.includes(String.fromCharCode(unit))
}
