import { createReadStream, mkdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import split2 from 'split2'
import StreamSearch from 'streamsearch'
import { noiseLog } from '../make.ts'
import { answerTo, type Candidate, type Scene, type Visit, type Workload } from '../measure.ts'
import { product } from '../product.ts'
import { batched, chunksOf, oneByOne, type Reading, source } from '../source.ts'

const OPENER = '<json>'
const CLOSER = '</json>'

export const w1: Workload = {
  id: 'W1',
  title: 'tags in a noise log',
  input: 'log lines, a `<json>` block every 100 KB',
  async *scenes(quick) {
    const { input, values } = noiseLog((quick ? 32 : 64) << 20, 100_000)
    const expected = await answerTo(values)
    const found = await answerTo(positions(input))
    const inMemory = (chunks: Buffer[]) => all(() => source(chunks), found)
    const base = { bytes: input.length, expected }
    const goals = [{ ours: ours(batched), against: 'streamsearch', atLeast: 4 }]
    const whole = chunksOf(input, 65_536)
    yield { ...base, name: 'memory, 64 KiB chunks', candidates: inMemory(whole), goals }
    if (!quick) {
      yield { ...base, name: 'memory, 4,095 B chunks', candidates: inMemory(chunksOf(input, 4095)) }
      yield await tinyChunks()
    }
    yield { ...base, name: 'a file', ...fromFile(input, await answerTo([input.length])) }
  },
}

function ours(read: Reading): string {
  return `values({tag}), ${read === batched ? 'data' : 'for await'}`
}

function sluice(open: () => Readable, read: Reading): Candidate {
  return {
    name: ours(read),
    role: 'ours',
    run: (visit) =>
      read<{ ok: boolean; value?: unknown }>(
        open().pipe(product.values({ tag: 'json' })),
        (outcome) => outcome.ok && visit(outcome.value),
      ),
  }
}

function all(open: () => Readable, found: Scene['expected']): Candidate[] {
  return [
    sluice(open, batched),
    sluice(open, oneByOne),
    { name: 'split2', role: 'peer', run: (visit) => byLine(open(), visit) },
    { name: 'streamsearch', role: 'peer', expected: found, run: (visit) => bySearch(open(), visit) },
    { name: "indexOf('<json>')", role: 'limit', expected: found, run: (visit) => byIndex(open(), visit) },
  ]
}

async function tinyChunks(): Promise<Scene> {
  const { input, values } = noiseLog(1 << 17, 20_000)
  const found = await answerTo(positions(input))
  const chunks = chunksOf(input, 1)
  const candidates = all(() => source(chunks), found).filter(({ role }) => role !== 'limit')
  return { name: 'memory, 1 B chunks', bytes: input.length, expected: await answerTo(values), candidates }
}

function fromFile(input: Buffer, size: Scene['expected']): Pick<Scene, 'candidates' | 'goals'> {
  mkdirSync('bench/inputs', { recursive: true })
  const path = 'bench/inputs/w1.log'
  writeFileSync(path, input)
  const open = () => createReadStream(path)
  const plain: Candidate = {
    name: 'plain file reading',
    role: 'limit',
    // It looks for nothing: what is checked is that it read everything.
    expected: size,
    async run(visit) {
      let read = 0
      await batched<Buffer>(open(), (chunk) => {
        read += chunk.length
      })
      visit(read)
    },
  }
  return {
    candidates: [
      sluice(open, batched),
      { name: 'readFile + regex', role: 'peer', run: (visit) => byRegex(path, visit) },
      plain,
    ],
    goals: [{ ours: ours(batched), against: plain.name, atLeast: 0.45 }],
  }
}

/** Lines are gathered from one with an opener to one with a closer. */
function byLine(stream: Readable, visit: Visit): Promise<void> {
  let block: string[] | undefined
  return batched<string>(stream.pipe(split2()), (line) => {
    if (!block && line.includes(OPENER)) block = []
    if (!block) return
    block.push(line)
    if (!line.includes(CLOSER)) return
    const text = block.join('\n')
    visit(JSON.parse(text.slice(text.indexOf(OPENER) + OPENER.length, text.indexOf(CLOSER))))
    block = undefined
  })
}

/** Finds the openers and no more: where they are, not what they hold. */
async function bySearch(stream: Readable, visit: Visit): Promise<void> {
  let passed = 0
  const search = new StreamSearch(OPENER, (isMatch, _data, from, to) => {
    passed += (to ?? 0) - (from ?? 0)
    if (!isMatch) return
    visit(passed)
    passed += OPENER.length
  })
  await batched<Buffer>(stream, (chunk) => search.push(chunk))
  search.destroy()
}

async function byIndex(stream: Readable, visit: Visit): Promise<void> {
  let base = 0
  let tail: Buffer = Buffer.alloc(0)
  await batched<Buffer>(stream, (chunk) => {
    const seam = Buffer.concat([tail, chunk.subarray(0, OPENER.length - 1)])
    const across = seam.indexOf(OPENER)
    if (across >= 0) visit(base - tail.length + across)
    for (let at = chunk.indexOf(OPENER); at >= 0; at = chunk.indexOf(OPENER, at + 1)) visit(base + at)
    tail = chunk.subarray(Math.max(0, chunk.length - OPENER.length + 1))
    base += chunk.length
  })
}

async function byRegex(path: string, visit: Visit): Promise<void> {
  const text = await readFile(path, 'utf8')
  for (const match of text.matchAll(/<json>([\s\S]*?)<\/json>/g)) visit(JSON.parse(match[1]!))
}

function* positions(input: Buffer): Generator<number> {
  for (let at = input.indexOf(OPENER); at >= 0; at = input.indexOf(OPENER, at + 1)) yield at
}
