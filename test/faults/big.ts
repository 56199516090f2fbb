/**
 * One huge input, made on the fly, through the product, in a process of its own: `big.ts CASE BYTES`. Prints
 * what came out and the peak of memory over what the process had before the first byte.
 */
import { readFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { codex } from '../../src/engines/codex/codex.ts'
import { events } from '../../src/streams/events.ts'
import { frames, values } from '../../src/streams/values.ts'

const [name = '', size = '0'] = process.argv.slice(2)
const total = Number(size)
const CHUNK = 65_536
let made = 0

/** The head, `total` bytes of the filler, the tail. */
function* endless(head: string, filler: string, tail: string): Generator<Buffer> {
  yield Buffer.from(head)
  const chunk = Buffer.from(filler.repeat(Math.ceil(CHUNK / Buffer.byteLength(filler))))
  for (made = 0; made < total; made += chunk.length) yield chunk
  yield Buffer.from(tail)
}

/** A chunk of keys; that they come again and again is known only to who has kept them all. */
const keys = Array.from({ length: 5000 }, (_, i) => `,"k${i}":0`).join('')

const line = `${JSON.stringify({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'x'.repeat(900) } })}\n`
const message = `{"text":"${'y'.repeat(1 << 18)}"}\n`
const cases: Record<string, () => [Iterable<Buffer>, NodeJS.ReadWriteStream]> = {
  line: () => [endless('{"a":"', 'x', '"}\n{"next":1}\n'), frames()],
  'line-values': () => [endless('{"a":"', 'x', '"}\n{"next":1}\n'), values({ lines: true })],
  'line-events': () => [endless('{"a":"', 'x', '"}\n'), events(codex)],
  tag: () => [endless('<json>{"a":"', 'x', ''), frames()],
  'tag-values': () => [endless('<json>{"a":"', 'x ', ''), values({ tag: 'json' })],
  fence: () => [endless('```json\n', 'x\n', ''), frames()],
  keys: () => [endless('<json>{"k":0', keys, '}</json>\n<json>{"next":1}</json>\n'), values({ tag: 'json' })],
  log: () => [endless('', line, '<json>{"next":1}</json>\n'), values({ tag: 'json' })],
  'log-events': () => [endless('', line, '{"type":"turn.completed"}\n'), events(codex)],
  slow: () => [endless('', message, ''), frames({ lines: true })],
  'slow-events': () => [endless('', line, ''), events(codex)],
}

const [input, flow] = cases[name]!()
const kinds: Record<string, number> = {}
const codes: Record<string, number> = {}
let last: unknown
let behind = 0
let seen = 0
const source = Readable.from(input, { objectMode: false, highWaterMark: CHUNK })
const sink = new Writable({
  objectMode: true,
  highWaterMark: 1,
  write(item, _encoding, done) {
    const kind = item.kind ?? item.event?.type ?? (item.ok ? 'ok' : item.fault.code)
    kinds[kind] = (kinds[kind] ?? 0) + 1
    for (const note of item.notes ?? []) codes[note.code] = (codes[note.code] ?? 0) + 1
    if (item.data?.code) codes[item.data.code] = (codes[item.data.code] ?? 0) + 1
    last = item.value ?? item.text ?? item.data?.state
    seen = item.to ?? item.raw_ref?.byte_to ?? seen
    behind = Math.max(behind, made - seen)
    // A reader a thousand times slower than the cutter, which takes some microseconds for a line.
    if (name.startsWith('slow')) setTimeout(done, 4)
    else done()
  },
})
global.gc?.()
const before = process.memoryUsage().rss
const started = performance.now()
await pipeline(source, flow, sink)
const result = {
  name,
  bytes: total,
  kinds,
  codes,
  last: typeof last === 'string' ? last.slice(0, 40) : last,
  behind,
  before_mb: Math.round(before / 1e6),
  grown_mb: Math.round((peakOfMemory() - before) / 1e6),
  seconds: Math.round(performance.now() - started) / 1000,
}
console.log(JSON.stringify(result))

/** `maxRSS` would not do: it begins with the memory of the process that started this one. */
function peakOfMemory(): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
