import type { Readable } from 'node:stream'
import ndjson from 'ndjson'
import split2 from 'split2'
import jsonl from 'stream-json/jsonl/parser.js'
import { HONEST, honestLimit } from '../limits.ts'
import { agentLines } from '../make.ts'
import { answerTo, type Candidate, type Goal, type Scene } from '../measure.ts'
import { product } from '../product.ts'
import { batched, chunksOf, oneByOne, type Reading, source } from '../source.ts'

export const OURS = 'values({lines})'

interface LineShape {
  readonly bytes: number
  readonly min: number
  readonly max: number
}

/** The scenes of W2 and W2s: lines of one range of lengths, in several chunkings and readings. */
export async function* lineScenes({ bytes, min, max }: LineShape, quick: boolean): AsyncGenerator<Scene> {
  const { lines, input } = lineInput(bytes, min, max)
  const base = { bytes: input.length, expected: await answerTo(lines.map((line) => JSON.parse(line))) }
  const texts = await answerTo(lines)
  const limit = preSplit(lines)
  const whole = chunksOf(input, 65_536)
  const open = () => source(whole)
  const all = [...readers(open, batched), cut(open, texts), honestLimit(open), limit]
  const near: Goal = { ours: OURS, against: HONEST, atLeast: 0.95 }
  yield { ...base, name: '64 KiB chunks, data', candidates: all, goals: [near, AHEAD] }
  yield { ...base, name: '64 KiB chunks, for await', candidates: [...readers(open, oneByOne), limit] }
  if (quick) return
  const odd = chunksOf(input, 4095)
  const openOdd = () => source(odd)
  const oddly = [...readers(openOdd, batched), cut(openOdd, texts), honestLimit(openOdd), limit]
  yield { ...base, name: '4,095 B chunks, data', candidates: oddly, goals: [AHEAD] }
  yield await tinyChunks(min, max)
}

async function tinyChunks(min: number, max: number): Promise<Scene> {
  const { lines, input } = lineInput(1 << 19, min, max)
  const chunks = chunksOf(input, 64)
  const expected = await answerTo(lines.map((line) => JSON.parse(line)))
  const open = () => source(chunks)
  return {
    name: '64 B chunks, data',
    bytes: input.length,
    expected,
    candidates: [...readers(open, batched), honestLimit(open)],
    goals: [AHEAD],
  }
}

function lineInput(bytes: number, min: number, max: number): { lines: string[]; input: Buffer } {
  const lines = agentLines(bytes, min, max)
  return { lines, input: Buffer.from(`${lines.join('\n')}\n`) }
}

function readers(open: () => Readable, read: Reading): Candidate[] {
  return [
    sluice(OURS, open, read),
    sluice('values({lines, schema})', open, read, RECORD),
    ...linePeers(open, read),
  ]
}

export const PEERS = ['ndjson', 'split2 + JSON.parse', 'stream-json jsonl'] as const

/** Where even the honest limit is behind a peer, the goal is shown as out of reach. */
export const AHEAD: Goal = { ours: OURS, against: PEERS, atLeast: 1, within: HONEST }

export function linePeers(open: () => Readable, read: Reading): Candidate[] {
  const [byNdjson, bySplit2, byStreamJson] = PEERS
  return [
    { name: byNdjson, role: 'peer', run: (visit) => read(open().pipe(ndjson.parse()), visit) },
    {
      name: bySplit2,
      role: 'peer',
      run: (visit) => read(open().pipe(split2(JSON.parse)), visit),
    },
    {
      name: byStreamJson,
      role: 'peer',
      run: (visit) => read<{ value: unknown }>(open().pipe(jsonl.asStream()), (item) => visit(item.value)),
    },
  ]
}

const RECORD = {
  type: 'object',
  required: ['type', 'item'],
  properties: { type: { type: 'string' }, item: { type: 'object', required: ['id', 'type'] } },
}

export function sluice(name: string, open: () => Readable, read: Reading, schema?: typeof RECORD): Candidate {
  return {
    name,
    role: 'ours',
    run: (visit) =>
      read<{ ok: boolean; value?: unknown }>(
        open().pipe(product.values({ lines: true, schema })),
        (outcome) => outcome.ok && visit(outcome.value),
      ),
  }
}

function cut(open: () => Readable, texts: Scene['expected']): Candidate {
  const options = { tags: [], fences: false, objects: false, think: false }
  return {
    name: 'frames(), not parsed',
    role: 'ours',
    expected: texts,
    run: (visit) =>
      batched<{ kind: string; text: string }>(
        open().pipe(product.frames(options)),
        (frame) => frame.kind === 'line' && visit(frame.text),
      ),
  }
}

function preSplit(lines: readonly string[]): Candidate {
  return {
    name: 'JSON.parse, lines split before',
    role: 'limit',
    run(visit) {
      for (const line of lines) visit(JSON.parse(line))
    },
  }
}
