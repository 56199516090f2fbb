import type { Readable } from 'node:stream'
import { agentLines, elements, noiseLog } from './make.ts'
import { batched, chunksOf, repeated } from './source.ts'

/** One reader over one input that grows. It runs in a process of its own, so its peak is its own. */
export interface MemoryCase {
  readonly name: string
  readonly input: string
  readonly role: 'ours' | 'peer'
  /** A goal: the peak in MB, whatever the size. */
  readonly maxPeak?: number
  /** Reads about so many MB and says how many values it found, and how many there were. */
  run(megabytes: number): Promise<{ found: number; expected: number }>
}

export interface MemoryResult {
  readonly name: string
  readonly input: string
  readonly role: 'ours' | 'peer'
  readonly megabytes: number
  /** In MB. */
  readonly peak: number
  readonly wrong?: string
  readonly maxPeak?: number
}

/** So much is made; what is larger is the same again. */
const POOL = 1 << 20

export const memoryCases: readonly MemoryCase[] = [
  {
    name: 'values({lines})',
    input: 'agent NDJSON',
    role: 'ours',
    run: (megabytes) => countLines(megabytes, async () => (await sluice()).values({ lines: true }), isOk),
  },
  {
    name: 'ndjson',
    input: 'agent NDJSON',
    role: 'peer',
    run: (megabytes) => countLines(megabytes, async () => (await import('ndjson')).default.parse()),
  },
  {
    name: 'stream-json jsonl',
    input: 'agent NDJSON',
    role: 'peer',
    run: (megabytes) =>
      countLines(megabytes, async () => (await import('stream-json/jsonl/parser.js')).default.asStream()),
  },
  {
    name: 'values({tag})',
    input: 'noise log',
    role: 'ours',
    async run(megabytes) {
      const { input, values } = noiseLog(POOL, 100_000)
      const times = Math.ceil((megabytes * 1e6) / POOL)
      const flow = (await sluice()).values({ tag: 'json' })
      const stream = repeated('', chunksOf(input, 65_536), times, '').pipe(flow)
      return { found: await count(stream, isOk), expected: times * values.length }
    },
  },
  {
    name: 'frames()',
    input: 'one line without LF, then a record',
    role: 'ours',
    async run(megabytes) {
      const chunks = chunksOf(Buffer.alloc(POOL, 'x'), 65_536)
      const times = Math.ceil((megabytes * 1e6) / POOL)
      const stream = repeated('{"a":"', chunks, times, '\n{"a":1}\n').pipe((await sluice()).frames())
      return { found: await count<{ kind: string }>(stream, ({ kind }) => kind === 'line'), expected: 1 }
    },
  },
  {
    name: 'values({tag, items})',
    input: 'one array in a block',
    role: 'ours',
    maxPeak: 80,
    run: (megabytes) =>
      countElements(megabytes, 'x <json>', '</json>', async () =>
        (await sluice()).values({ tag: 'json', items: 'issues.*' }),
      ),
  },
  {
    name: '@streamparser/json-node',
    input: 'one array in a block',
    role: 'peer',
    run: (megabytes) =>
      countElements(megabytes, '', '', async () => {
        const { JSONParser } = await import('@streamparser/json-node')
        return new JSONParser({ paths: ['$.issues.*'], keepStack: false })
      }),
  },
]

async function countElements(
  megabytes: number,
  head: string,
  tail: string,
  reader: () => Promise<NodeJS.ReadWriteStream>,
): Promise<{ found: number; expected: number }> {
  const texts = elements(POOL)
  const pool = Buffer.from(texts.map((text) => `${text},`).join(''))
  const times = Math.ceil((megabytes * 1e6) / pool.length)
  const chunks = chunksOf(pool, 65_536)
  const stream = repeated(`${head}{"issues":[`, chunks, times, `{"last":true}]}${tail}`)
  return { found: await count(stream.pipe(await reader())), expected: times * texts.length + 1 }
}

async function sluice() {
  return (await import('./product.ts')).product
}

function isOk(outcome: { ok: boolean }): boolean {
  return outcome.ok
}

async function countLines(
  megabytes: number,
  reader: () => Promise<NodeJS.ReadWriteStream>,
  counts?: (item: { ok: boolean }) => boolean,
): Promise<{ found: number; expected: number }> {
  const lines = agentLines(POOL, 200, 4000)
  const pool = Buffer.from(`${lines.join('\n')}\n`)
  const times = Math.ceil((megabytes * 1e6) / pool.length)
  const stream = repeated('', chunksOf(pool, 65_536), times, '').pipe(await reader())
  return { found: await count(stream, counts), expected: times * lines.length }
}

async function count<T>(
  stream: NodeJS.ReadableStream | Readable,
  counts: (item: T) => boolean = () => true,
): Promise<number> {
  let found = 0
  await batched<T>(stream, (item) => {
    if (counts(item)) found++
  })
  return found
}

/** To be called in a process that does nothing else. */
export async function measureMemory(name: string, megabytes: number): Promise<MemoryResult> {
  const one = memoryCases.find((candidate) => candidate.name === name)!
  const { found, expected } = await one.run(megabytes)
  const peak = process.resourceUsage().maxRSS / 1024
  const { input, role, maxPeak } = one
  const wrong = found === expected ? undefined : `finds ${found} of ${expected}`
  return { name, input, role, megabytes, peak, ...(wrong && { wrong }), ...(maxPeak && { maxPeak }) }
}
