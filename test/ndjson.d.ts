declare module 'ndjson' {
  import type { Duplex } from 'node:stream'
  export function parse(options?: { strict?: boolean }): Duplex
}
