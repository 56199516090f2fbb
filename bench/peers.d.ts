/** Opponents that bring no types of their own; only what the benches call. */
declare module 'split2' {
  import type { Transform } from 'node:stream'
  export default function split2(mapper?: (line: string) => unknown): Transform
}

declare module 'streamsearch' {
  export default class StreamSearch {
    constructor(needle: string, found: (isMatch: boolean, data?: Buffer, from?: number, to?: number) => void)
    push(chunk: Buffer): void
    destroy(): void
  }
}

declare module 'JSONStream' {
  import type { Transform } from 'node:stream'

  const JSONStream: { parse(path: string | null): Transform }
  export default JSONStream
}
