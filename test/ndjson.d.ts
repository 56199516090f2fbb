declare module 'ndjson' {
  import type { Duplex } from 'node:stream'
  export function parse(options?: { strict?: boolean }): Duplex
  export function stringify(): Duplex
}
