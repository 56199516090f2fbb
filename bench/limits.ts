import { type Readable, Transform } from 'node:stream'
import { isOrdinary } from '../src/json/plain-value.ts'
import { inspect } from '../src/json/silent-losses.ts'
import { decode } from '../src/text/decode.ts'
import type { Candidate } from './measure.ts'
import { batched } from './source.ts'

export const LIMIT = 'LF search, utf8Slice, JSON.parse'
export const HONEST = 'the honest limit'

const LF = 10

/** The least that can be done with lines in memory. */
export function limit(input: Buffer): Candidate {
  return {
    name: LIMIT,
    role: 'limit',
    run(visit) {
      for (let from = 0; from < input.length; ) {
        const to = input.indexOf(LF, from)
        visit(JSON.parse(input.toString('utf8', from, to)))
        from = to + 1
      }
    },
  }
}

/**
 * A plain Transform that does what an outcome of `values({lines})` promises and nothing else: it decodes by
 * the faster way, parses, looks for double keys and lost digits, and makes the outcome with its frame. It has
 * no limits, repairs nothing, and throws at a line that is not a record.
 */
export function honestLimit(open: () => Readable): Candidate {
  return {
    name: HONEST,
    role: 'limit',
    run: (visit) => batched<{ value: unknown }>(open().pipe(honestLines()), ({ value }) => visit(value)),
  }
}

function honestLines(): Transform {
  return byLine((line, from) => {
    const text = decode(line, 0, line.length)
    const value: unknown = JSON.parse(text)
    const notes = isOrdinary(value, text, MAX_DEPTH) ? NONE : inspect(text)
    const frame = { kind: 'line', channel: 'stdout', from, to: from + line.length, text, first: true }
    return { ok: true, value, repair_level: 'none', notes, frame }
  })
}

/** What you write by hand if you know that every line is a record and that no line is too long. */
export function plainLines(): Transform {
  return byLine((line, from) => ({
    ok: true,
    value: JSON.parse(line.toString()),
    from,
    to: from + line.length,
  }))
}

function byLine(each: (line: Buffer, from: number) => unknown): Transform {
  const pieces: Buffer[] = []
  let at = 0
  return new Transform({
    readableObjectMode: true,
    transform(chunk: Buffer, _encoding, done) {
      let from = 0
      for (let to = chunk.indexOf(LF); to >= 0; to = chunk.indexOf(LF, from)) {
        let line = chunk.subarray(from, to)
        if (pieces.length > 0) line = Buffer.concat([...pieces.splice(0), line])
        this.push(each(line, at))
        at += line.length + 1
        from = to + 1
      }
      if (from < chunk.length) pieces.push(chunk.subarray(from))
      done()
    },
  })
}

const MAX_DEPTH = 200
const NONE: readonly never[] = []
