import { product } from './product.ts'
import { batched, chunksOf, source } from './source.ts'

/** Input made to hurt: twice as much of it must not take much more than twice the time. */
interface Family {
  readonly name: string
  readonly reader: keyof typeof readers
  make(size: number): string
}

export interface LinearResult {
  readonly name: string
  readonly reader: string
  readonly bytes: number
  /** CPU milliseconds at n and at 2n. */
  readonly once: number
  readonly twice: number
  readonly ratio: number
}

/** Compiled once, because the time to compile it is not the question. */
const NEVER = { type: 'object', required: ['nothing has this'] }

const readers = {
  'frames()': () => product.frames(),
  'values()': () => product.values(),
  'values({tag})': () => product.values({ tag: 'json' }),
  'values({lines})': () => product.values({ lines: true }),
  'values({schema})': () => product.values({ schema: NEVER }),
  'values({partial})': () => product.values({ partial: true }),
}

const of = (piece: string) => (size: number) => piece.repeat(Math.ceil(size / piece.length))
const around = (head: string, piece: string, tail: string) => (size: number) => head + of(piece)(size) + tail
/** The same number of openers, then of closers. */
const nested = (open: string, close: string) => (size: number) => {
  const depth = Math.ceil(size / (open.length + close.length))
  return open.repeat(depth) + close.repeat(depth)
}

const families: readonly Family[] = [
  { name: '`{` again and again', reader: 'values()', make: of('{') },
  { name: '`{"` again and again', reader: 'values()', make: of('{"') },
  { name: '`{"a":` never closed', reader: 'values()', make: of('{"a":') },
  { name: '`"` again and again', reader: 'values()', make: around('{', '"', '') },
  { name: '`[` again and again', reader: 'values()', make: of('[') },
  { name: 'nested arrays, closed', reader: 'values()', make: nested('[', ']') },
  { name: 'nested objects, closed', reader: 'values()', make: nested('{"a":', '}') },
  { name: '`<json>` again and again', reader: 'values({tag})', make: of('<json>') },
  { name: '`<json>{` again and again', reader: 'values()', make: of('<json>{') },
  { name: '`</json>` in a string', reader: 'values({tag})', make: around('<json>{"a":"', '</json>', '') },
  { name: '`<json>\\"</json>` again and again', reader: 'values({tag})', make: of('<json>\\"</json>') },
  { name: '`<json>"</json>` again and again', reader: 'values({tag})', make: of('<json>"</json>') },
  {
    name: 'one line of `"<json>` in a block',
    reader: 'values({tag})',
    make: around('<json>', '"<json>" ', ''),
  },
  {
    name: 'backslashes in a block',
    reader: 'values({tag})',
    make: around('<json>{"a":"', '\\', '"}</json>'),
  },
  { name: 'backticks', reader: 'values()', make: of('`') },
  { name: 'lines of three backticks', reader: 'values()', make: of('```\n') },
  { name: 'fences of growing length', reader: 'values()', make: growingFences },
  { name: '`<think>` again and again', reader: 'values()', make: of('<think>\n') },
  {
    name: 'an unclosed think full of objects',
    reader: 'values()',
    make: around('<think>', '\n{"a":1} ', ''),
  },
  { name: 'mustaches `{{x}}`', reader: 'values({schema})', make: of('{{x}} ') },
  { name: 'objects that fail the schema', reader: 'values({schema})', make: of('{a: 1,} ') },
  {
    name: 'one string with raw line breaks',
    reader: 'values({schema})',
    make: around('{"a":"', 'x\n', '"}'),
  },
  {
    name: 'quotes that were not escaped',
    reader: 'values({schema})',
    make: around('{"a":"', 'b "c" d ', '"}'),
  },
  { name: 'lines that are no records', reader: 'frames()', make: of('{"a":1} x\n') },
  { name: 'lines cut in the middle', reader: 'values({lines})', make: of('{"a":[1,2}\n') },
  { name: 'one line without LF', reader: 'values({lines})', make: around('{"a":"', 'x', '') },
  { name: 'escape sequences', reader: 'frames()', make: of('\u001b[31m{"a":1}\u001b[0m\r\n') },
  { name: 'ESC again and again', reader: 'frames()', make: of('\u001b') },
  { name: 'an OSC that never ends', reader: 'frames()', make: around('\u001b]0;', 'title', '') },
  { name: 'U+0085 and C1 in turn', reader: 'frames()', make: of('\u0085\u009b1m') },
  { name: 'BOMs and blanks', reader: 'values()', make: of('\ufeff \n') },
  { name: 'an array cut off', reader: 'values({partial})', make: around('{"a":[', '{"b":"c"},', '') },
  { name: 'keys, all the same', reader: 'values()', make: around('{', '"a":1,', '"a":1}') },
]

function growingFences(size: number): string {
  let text = ''
  for (let length = 3; text.length < size; length = length < 200 ? length + 1 : 3)
    text += `${'`'.repeat(length)}\n`
  return text
}

/**
 * Measures every family. `rounds` are taken at n and at 2n in turn, and a ratio above the bound is measured
 * anew.
 */
export async function measureLinear(
  options: { rounds: number; minCpuMs: number; bound: number },
  progress: (name: string) => void,
): Promise<LinearResult[]> {
  const results: LinearResult[] = []
  for (const family of families) {
    progress(family.name)
    let result = await measureFamily(family, options)
    // A neighbour on the machine can spoil one measurement, but not three in a row.
    for (let again = 0; again < 2 && result.ratio > options.bound; again++) {
      const next = await measureFamily(family, { ...options, minCpuMs: 2 * options.minCpuMs })
      if (next.ratio < result.ratio) result = next
    }
    results.push(result)
  }
  return results
}

const SMALLEST = 1 << 15
/** Twice as much still fits into `maxFrame`, so both sizes meet the same rules. */
const LARGEST = 1 << 22

async function measureFamily(
  { name, reader, make }: Family,
  { rounds, minCpuMs }: { rounds: number; minCpuMs: number },
): Promise<LinearResult> {
  let bytes = SMALLEST
  for (;;) {
    const input = chunksOf(Buffer.from(make(bytes)), 65_536)
    if (bytes === SMALLEST) for (let warm = 0; warm < 3; warm++) await cpuMs(reader, input)
    if (bytes >= LARGEST || (await cpuMs(reader, input)) >= minCpuMs) break
    bytes *= 2
  }
  const small = chunksOf(Buffer.from(make(bytes)), 65_536)
  const large = chunksOf(Buffer.from(make(2 * bytes)), 65_536)
  const once: number[] = []
  const twice: number[] = []
  for (let round = 0; round < rounds; round++) {
    once.push(await cpuMs(reader, small))
    twice.push(await cpuMs(reader, large))
  }
  // The least of all rounds: a neighbour on the machine only ever adds.
  const result = { name, reader, bytes, once: Math.min(...once), twice: Math.min(...twice) }
  return { ...result, ratio: result.twice / result.once }
}

async function cpuMs(reader: Family['reader'], chunks: readonly Buffer[]): Promise<number> {
  globalThis.gc?.({ type: 'minor', execution: 'sync' })
  const before = process.cpuUsage()
  await batched(source(chunks).pipe(readers[reader]()), () => {})
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
