import { type Readable, Transform } from 'node:stream'
import type { AgentEvent as Event } from '../../src/index.ts'
import { type Answer, answerTo, type Candidate, type Goal, type Scene, type Workload } from '../measure.ts'
import { product } from '../product.ts'
import { endsOf, endsReached, engineLines, logOf, mixedLines, recordsOf } from '../real-lines.ts'
import { batched, chunksOf, source } from '../source.ts'
import { linePeers, OURS, PEERS, sluice } from './lines.ts'

/** Engines with enough lines of their own; the others are only in the mix. */
const ENGINES = ['codex', 'opencode', 'gemini', 'qwen', 'copilot', 'pi'] as const

type Engine = (typeof ENGINES)[number]

const LIMIT = 'LF search, utf8Slice, JSON.parse'
const PLAIN = 'plain Transform by hand'

export const w2r: Workload = {
  id: 'W2r',
  title: 'real NDJSON',
  input: 'records that agents wrote, tool output inside; most bytes are in long lines, many are not ASCII',
  async *scenes(quick) {
    yield* scenesOf('all engines', mixedLines((quick ? 5 : 24) << 20), quick ? [65_536, 4095] : SIZES)
    for (const engine of quick ? ENGINES.slice(0, 4) : ENGINES) {
      const lines = engineLines(engine, (quick ? 2 : 12) << 20)
      yield* scenesOf(engine, lines, quick ? [65_536] : SIZES, quick ? [engine] : ['auto', engine])
    }
    if (!quick) yield* scenesOf('lines up to 4 KiB', shortLines(1 << 16), [1])
  },
}

const SIZES = [65_536, 4095, 1 << 20]
const SIZE_NAMES = new Map([
  [65_536, '64 KiB chunks'],
  [4095, '4,095 B chunks'],
  [1 << 20, '1 MiB chunks'],
  [1, '1 B chunks'],
])

async function* scenesOf(
  name: string,
  lines: readonly Buffer[],
  sizes: readonly number[],
  engines: readonly (Engine | 'auto')[] = ['auto'],
): AsyncGenerator<Scene> {
  const input = logOf(lines)
  const expected = await answerTo(recordsOf(lines))
  const ends = await answerTo(endsOf(lines))
  for (const size of sizes) {
    const chunks = chunksOf(input, size)
    const open = () => source(chunks)
    const ours = [sluice(OURS, open, batched), ...engines.map((engine) => events(engine, open, ends))]
    yield {
      name: `${name}, ${SIZE_NAMES.get(size)}`,
      bytes: input.length,
      expected,
      candidates: [...ours, ...linePeers(open, batched), plain(open), ...(size === 1 ? [] : [limit(input)])],
      goals: goalsAt(size),
    }
  }
}

/** Small chunks must not cost more than they cost others; terminals write 4 KiB at a time. */
function goalsAt(size: number): Goal[] {
  const [ndjson, split2] = PEERS
  switch (size) {
    case 65_536:
      return [
        { ours: OURS, against: [ndjson, split2], atLeast: 2, within: LIMIT },
        { ours: OURS, against: LIMIT, atLeast: 0.8 },
      ]
    case 4095:
      return [{ ours: OURS, against: PEERS, atLeast: 1 }]
    case 1:
      return [{ ours: OURS, against: PEERS, atLeast: 0.5 }]
    default:
      return []
  }
}

/**
 * The first lines of the mix that are not long: on a long line in chunks of one byte ndjson and split2 are
 * quadratic.
 */
function shortLines(bytes: number): Buffer[] {
  let room = bytes
  return mixedLines(1).filter((line) => {
    if (line.length > 4096 || room < 0) return false
    room -= line.length + 1
    return true
  })
}

function events(engine: Engine | 'auto', open: () => Readable, ends: Answer): Candidate {
  const profile = engine === 'auto' ? product.auto : product.engines[engine]
  return {
    name: `events(${engine})`,
    role: 'ours',
    expected: ends,
    run(visit) {
      const reached = endsReached()
      return batched<Event>(open().pipe(product.events(profile)), (event) => reached(event, visit))
    },
  }
}

/** What you write by hand if you know that every line is a record and that no line is too long. */
function plain(open: () => Readable): Candidate {
  return {
    name: PLAIN,
    role: 'peer',
    run: (visit) => batched<{ value: unknown }>(open().pipe(plainLines()), ({ value }) => visit(value)),
  }
}

const LF = 10

function plainLines(): Transform {
  const pieces: Buffer[] = []
  let at = 0
  return new Transform({
    readableObjectMode: true,
    transform(chunk: Buffer, _encoding, done) {
      let from = 0
      for (let to = chunk.indexOf(LF); to >= 0; to = chunk.indexOf(LF, from)) {
        let line = chunk.subarray(from, to)
        if (pieces.length > 0) line = Buffer.concat([...pieces.splice(0), line])
        this.push({ ok: true, value: JSON.parse(line.toString()), from: at, to: at + line.length })
        at += line.length + 1
        from = to + 1
      }
      if (from < chunk.length) pieces.push(chunk.subarray(from))
      done()
    },
  })
}

function limit(input: Buffer): Candidate {
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
