import { createHash } from 'node:crypto'

/** A longer token is cut and gets a hash: a file name may have 255 bytes. */
const MAX_TOKEN = 200
const KEPT = 160

/**
 * A name as a token of a subject and as the name of a folder: percent-encoded, including `.` and `*`, which
 * are special there.
 *
 * @example
 * tokenOf('shop/run.7') // 'shop%2Frun%2E7'
 */
export function tokenOf(name: string): string {
  // A lone surrogate becomes U+FFFD here; encodeURIComponent would throw on it.
  const plain = Buffer.from(name).toString()
  const token = encodeURIComponent(plain).replaceAll('.', '%2E').replaceAll('*', '%2A')
  if (token.length > 0 && token.length <= MAX_TOKEN && plain === name) return token
  const hash = createHash('sha256').update(JSON.stringify(name)).digest('hex').slice(0, 32)
  return `${token.slice(0, KEPT)}-${hash}`
}

/**
 * Whether this is a token as `tokenOf` makes them. Others may publish what would lead to another folder: a
 * `/`, a name too long.
 */
export function isToken(text: string): boolean {
  return text.length <= MAX_TOKEN && /^[\w\-!~'()%]+$/.test(text)
}
