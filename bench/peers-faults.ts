// The same faults for us and for the peers, each case in a process of its own with limits on time and memory.
//   npx tsx bench/peers-faults.ts            (prints the table, and writes it into bench/reliability.md)
// A verdict is one of: ok, keeps (a prototype key is there as a plain own key, as JSON.parse has it), loses
// (a record is missing), corrupts (a wrong value comes out, or one whose prototype was changed), crashes,
// hangs, n/a.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

const LIMIT_MS = 20_000
const LIMIT_MB = 512

interface Case {
  readonly title: string
  readonly chunks: () => Iterable<Buffer>
  /** What must come out, in order, as JSON. */
  readonly expected: readonly string[]
  /** What JSON.parse makes of it, if that is harmless though not what we give. */
  readonly kept?: string
  /** One text, one value: what a repairer or a partial parser is for. */
  readonly single?: boolean
}

const record = (text: string) => `{"text":${JSON.stringify(text)}}`
const good = record('good')
const bytes = (text: string) => [Buffer.from(text)]
function* cut(text: string, size: number): Generator<Buffer> {
  const whole = Buffer.from(text)
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size)
}
function* hugeLine(): Generator<Buffer> {
  const block = Buffer.alloc(1 << 20, 'x')
  yield Buffer.from('{"text":"')
  for (let i = 0; i < 400; i++) yield block
  yield Buffer.from(`\n${good}\n`)
}

const cases: Record<string, Case> = {
  utf8: {
    title: 'UTF-8 split at every byte',
    chunks: () => cut(`${record('Grüße 😀 漢字')}\n${good}\n`, 1),
    expected: [record('Grüße 😀 漢字'), good],
  },
  huge: {
    title: 'a line of 400 MB that never closes, then a good record',
    chunks: hugeLine,
    expected: [good],
  },
  deep: {
    title: '1,000,000 open brackets, then a good record',
    chunks: () => bytes(`${'['.repeat(1_000_000)}\n${good}\n`),
    expected: [good],
  },
  noise: {
    title: 'log lines between records',
    chunks: () => bytes(`starting…\n${good}\n[warn] {retry} in 3s\n${record('second')}\ndone\n`),
    expected: [good, record('second')],
  },
  cut: {
    title: 'the last record is cut off: it must not look whole',
    chunks: () => bytes(`${good}\n{"text":"half a sent`),
    expected: [good],
  },
  proto: {
    title: '`__proto__` as a key',
    chunks: () => bytes('{"a":1,"__proto__":{"polluted":1}}\n'),
    expected: ['{"a":1}'],
    kept: '{"a":1,"__proto__":{"polluted":1}}',
    single: true,
  },
  openers: {
    title: '400,000 lookalike openers `{`, then a good record',
    chunks: () => bytes(`${'{'.repeat(400_000)}\n${good}\n`),
    expected: [good],
  },
  swapped: {
    title: '`{[`: it must not become a value',
    chunks: () => bytes('{['),
    expected: [],
    single: true,
  },
}

type Take = (chunks: Iterable<Buffer>, give: (value: unknown) => void) => Promise<void>

/** A transform that is fed and read to its end. */
const through =
  (make: () => Promise<NodeJS.ReadWriteStream>, pick = (value: unknown) => value): Take =>
  async (chunks, give) => {
    const { pipeline } = await import('node:stream/promises')
    await pipeline(
      Readable.from(chunks, { objectMode: false }),
      await make(),
      async (out: AsyncIterable<unknown>) => {
        for await (const value of out) give(pick(value))
      },
    )
  }
/** A stream of the old kind, which cannot be iterated: written to, and listened to. */
const listened =
  (make: () => Promise<NodeJS.ReadWriteStream>): Take =>
  async (chunks, give) => {
    const stream = await make()
    stream.on('data', give)
    let failure: Error | undefined
    const ended = new Promise<void>((resolve) => {
      stream.on('end', resolve)
      stream.on('error', (error) => {
        failure ??= error
        resolve()
      })
    })
    for (const chunk of chunks) {
      stream.write(chunk as Uint8Array)
      await new Promise(setImmediate)
      if (failure) break
    }
    if (!failure) stream.end()
    await ended
    if (failure) throw failure
  }
const text = (parse: (text: string) => unknown): Take => {
  return async (chunks, give) => give(parse(Buffer.concat([...chunks]).toString()))
}

function ours(options: { readonly lines?: true }): Take {
  return through(
    async () => {
      const { values } = await import('../src/streams/values.ts')
      const { jsonSchema } = await import('../src/values/schema/json-schema.ts')
      const schema = jsonSchema({ type: 'object', minProperties: 1 })
      return values({ ...options, schema }) as unknown as NodeJS.ReadWriteStream
    },
    (outcome) => ((outcome as { ok: boolean }).ok ? (outcome as { value: unknown }).value : undefined),
  )
}

const peers: Record<string, { readonly take: Take; readonly whole?: true }> = {
  // With the hint that the input is lines, which the others assume; and without any.
  'agent-sluice': { take: ours({ lines: true }) },
  'agent-sluice without options': { take: ours({}) },
  ndjson: { take: through(async () => (await import('ndjson')).default.parse()) },
  'ndjson strict:false': {
    take: through(async () => (await import('ndjson')).default.parse({ strict: false })),
  },
  'stream-json': {
    take: through(
      async () => {
        const { streamValues } = await import('stream-json/streamers/stream-values.js')
        return streamValues.withParserAsStream({ jsonStreaming: true }) as unknown as NodeJS.ReadWriteStream
      },
      (item) => (item as { value: unknown }).value,
    ),
  },
  // The door for lines that its documentation names.
  'stream-json jsonl, ignoreErrors': {
    take: through(
      async () => {
        const { parser } = await import('stream-json/jsonl/parser.js')
        return parser.asStream({ ignoreErrors: true }) as unknown as NodeJS.ReadWriteStream
      },
      (item) => (item as { value: unknown }).value,
    ),
  },
  // Its readme says that without a path nothing is emitted; it emits each root, which is what is wanted here.
  JSONStream: { take: listened(async () => (await import('JSONStream')).default.parse(null)) },
  jsonrepair: {
    whole: true,
    take: text((input) => JSON.parse(repair(input))),
  },
  'partial-json': { whole: true, take: text((input) => partial(input)) },
}
let repair: (text: string) => string
let partial: (text: string) => unknown

type Row = readonly [peer: string, verdicts: readonly string[]]

/** Runs everything; a row for each peer. */
async function table(): Promise<Row[]> {
  const rows: Row[] = []
  for (const [peer, { whole }] of Object.entries(peers)) {
    const verdicts: string[] = []
    for (const [name, { single }] of Object.entries(cases))
      verdicts.push(whole && !single ? 'n/a' : await inProcess(peer, name))
    rows.push([peer, verdicts])
  }
  return rows
}

async function inProcess(peer: string, name: string): Promise<string> {
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${LIMIT_MB}`, '--import', 'tsx', fileURLToPath(import.meta.url), peer, name],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )
  let said = ''
  child.stdout.on('data', (part) => {
    said += part
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
  const began = performance.now()
  const [code] = await once(child, 'close')
  clearTimeout(timer)
  if (performance.now() - began >= LIMIT_MS) return 'hangs'
  return code === 0 && said ? said : 'crashes'
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** In the child: one peer, one case. */
async function one(peer: string, name: string): Promise<string> {
  const { chunks, expected, kept } = cases[name]!
  repair = (await import('jsonrepair')).jsonrepair
  partial = (await import('partial-json')).parse
  const seen: string[] = []
  let failed = ''
  try {
    await peers[peer]!.take(chunks(), (value) => {
      if (value === undefined) return
      const changed =
        isObject(value) && ![Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value))
      seen.push(changed ? 'a changed prototype' : JSON.stringify(value))
    })
  } catch (error) {
    failed = error instanceof RangeError ? 'crashes' : 'stops with an error'
  }
  if (failed === 'crashes') return failed
  if ('polluted' in {}) return 'corrupts'
  if (kept !== undefined && seen.join() === kept) return 'keeps'
  const wrong = seen.filter((value) => !expected.includes(value))
  const missing = expected.filter((value) => !seen.includes(value))
  if (wrong.length > 0) return `corrupts`
  if (missing.length > 0) return failed ? `loses (${failed})` : 'loses'
  return 'ok'
}

const [peer, name] = process.argv.slice(2)
if (peer && name && Object.hasOwn(peers, peer)) process.stdout.write(await one(peer, name))
else {
  const rows = await table()
  const titles = Object.values(cases).map(({ title }) => title)
  const lines = [
    `| Case | ${rows.map(([peer]) => peer).join(' | ')} |`,
    `| --- |${' --- |'.repeat(rows.length)}`,
    ...titles.map((title, i) => `| ${title} | ${rows.map(([, verdicts]) => verdicts[i]).join(' | ')} |`),
  ]
  console.log(lines.join('\n'))
  const page = new URL('reliability.md', import.meta.url)
  const [before, rest] = readFileSync(page, 'utf8').split('<!-- peers -->')
  const after = rest?.split('<!-- /peers -->')[1]
  if (after === undefined) throw new Error('bench/reliability.md has no place for the table')
  writeFileSync(page, `${before}<!-- peers -->\n${lines.join('\n')}\n<!-- /peers -->${after}`)
}
