import { isIP } from 'node:net'

/**
 * Whether the Host header of a request names this server. A page of another site can point its own name at
 * this machine (DNS rebinding), and the browser would then let it read the answer. So only names are accepted
 * that no other site can own: IP addresses, localhost, and the name the server was started with.
 *
 * @example
 * isOwnHost(request.headersDistinct['host'], '127.0.0.1')
 */
export function isOwnHost(headers: readonly string[] | undefined, host: string): boolean {
  const [header, second] = headers ?? []
  // Reject duplicate Host headers: a proxy may have checked the other one.
  if (header === undefined || second !== undefined) return false
  const name = header.replace(/:\d{1,5}$/, '').toLowerCase()
  if (name === 'localhost' || name === host.toLowerCase()) return true
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}
