/** The same numbers on every machine: a small generator with a seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Random = () => number

const WORDS = (
  'the of to in for is on that by this with you it not or be are from at as your all have new more an was we will can us about if my has ' +
  'compile test module error warning return value stream buffer chunk parse schema index commit branch merge build cache async await ' +
  'src/frames/line.ts package.json node_modules README.md 0x7f3a 127.0.0.1:8080 2026-03-01T10:00:00Z <div> </span> "quoted" it\'s {cmd} [INFO] `code`'
).split(' ')
const FOREIGN = [...WORDS, 'naïve', '→', '完成', '✓', 'größer', 'доверие']

/** Prose of so many characters. Of the lines in real captures about one in twenty is not plain ASCII. */
function prose(next: Random, length: number): string {
  const words = next() < 0.05 ? FOREIGN : WORDS
  let text = ''
  while (text.length < length) {
    text += words[Math.floor(next() * words.length)]
    const blank = next()
    text += blank < 0.9 ? ' ' : blank < 0.98 ? '\n' : '\t'
  }
  return text.slice(0, length)
}

/**
 * Prose without the words that are not ASCII, for payloads whose every character may be broken on purpose.
 */
function plain(next: Random, length: number): string {
  return prose(next, length).replace(/[^ -~]|["'`{}[\]<>,:/\\]/g, ' ')
}

/** A log of noise with a `<json>` block about every `every` bytes, some of them over several lines. */
export function noiseLog(bytes: number, every: number): { input: Buffer; values: unknown[] } {
  const next = random(1)
  const lines = Array.from({ length: 4096 }, (_, index) =>
    Buffer.from(`[${index}] ${prose(next, 20 + Math.floor(next() * 160)).replaceAll('\n', ' ')}\n`),
  )
  const input = Buffer.alloc(bytes, ' ')
  const values: unknown[] = []
  let at = 0
  let blockAt = every
  for (;;) {
    let piece = lines[Math.floor(next() * lines.length)]!
    if (at >= blockAt) {
      blockAt += every
      const value = { id: values.length, issues: issues(next, 3) }
      piece = Buffer.from(`<json>${JSON.stringify(value, null, values.length % 2 ? 2 : 0)}</json>\n`)
      if (at + piece.length <= bytes) values.push(value)
    }
    if (at + piece.length > bytes) return { input, values }
    at += piece.copy(input, at)
  }
}

function issues(next: Random, count: number) {
  return Array.from({ length: count }, () => issue(next))
}

/** What seed 001 calls an issue. */
function issue(next: Random) {
  return {
    file: `src/${plain(next, 12).trim().replaceAll(' ', '/')}.ts`,
    line: 1 + Math.floor(next() * 900),
    severity: ['low', 'medium', 'high', 'critical'][Math.floor(next() * 4)]!,
    message: plain(next, 30 + Math.floor(next() * 60)),
    fixed: next() < 0.5,
    score: Math.round(next() * 1000) / 1000,
    tags: next() < 0.3 ? [] : ['style', 'bug'],
    parent: next() < 0.5 ? null : Math.floor(next() * 1e6),
  }
}

/** Records as Codex writes them, one a line, of `min` to `max` bytes; long ones are rarer than short ones. */
export function agentLines(bytes: number, min: number, max: number, seed = 2): string[] {
  const next = random(seed)
  const lines: string[] = []
  let made = 0
  while (made < bytes) {
    const size = Math.floor(min * (max / min) ** next())
    const line = JSON.stringify(record(next, lines.length, size))
    lines.push(line)
    made += Buffer.byteLength(line) + 1
  }
  return lines
}

function record(next: Random, index: number, size: number) {
  const id = `item_${index}`
  if (size < 190) {
    const item = { id, type: 'agent_message', text: prose(next, Math.max(8, size - 95)) }
    return { type: 'item.completed', item }
  }
  const kind = next()
  if (kind < 0.5) {
    const item = {
      id,
      type: 'command_execution',
      command: `bash -lc "rg ${prose(next, 24)}"`,
      aggregated_output: prose(next, Math.max(20, size - 190)),
      exit_code: next() < 0.8 ? 0 : 1,
      status: 'completed',
    }
    return { type: 'item.completed', item }
  }
  if (kind < 0.8) {
    const item = { id, type: 'agent_message', text: prose(next, Math.max(20, size - 80)) }
    return { type: 'item.completed', item }
  }
  const todo = Array.from({ length: Math.max(1, Math.floor(size / 120)) }, () => ({
    text: prose(next, 80),
    completed: next() < 0.5,
  }))
  return { type: 'item.updated', item: { id, type: 'todo_list', items: todo } }
}

/** A way to spoil JSON text. */
interface Breakage {
  readonly kind: string
  spoil(value: unknown): string
}

/** The spellings that models get wrong most. Each keeps the value: what was meant is still plain. */
const breakages: readonly Breakage[] = [
  { kind: 'trailing commas', spoil: (value) => pretty(value).replace(/([^,[{\s])(\n\s*[}\]])/g, '$1,$2') },
  { kind: 'unquoted keys', spoil: (value) => pretty(value).replace(/"(\w+)":/g, '$1:') },
  { kind: 'single quotes', spoil: (value) => pretty(value).replaceAll('"', "'") },
  { kind: 'a fence around', spoil: (value) => `\`\`\`json\n${pretty(value)}\n\`\`\`` },
  { kind: 'raw line breaks in strings', spoil: (value) => pretty(value).replace(/\\n/g, '\n') },
  { kind: 'comments', spoil: (value) => pretty(value).replace(/,\n/g, ', // checked\n') },
  { kind: 'missing commas', spoil: (value) => pretty(value).replace(/\},\n/g, '}\n') },
  {
    kind: 'Python literals',
    spoil: (value) =>
      pretty(value)
        .replace(/: true/g, ': True')
        .replace(/: false/g, ': False')
        .replace(/: null/g, ': None'),
  },
]

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

export interface Payload {
  readonly kind: string
  readonly text: string
  readonly value: unknown
}

/** Broken payloads of 1 to 60 KB, with what was meant. */
export function brokenPayloads(count: number): Payload[] {
  const next = random(5)
  return Array.from({ length: count }, (_, index) => {
    const size = 1000 * 58 ** next()
    const value = {
      id: index,
      summary: `two\nlines ${plain(next, 40)}`,
      issues: issues(next, Math.ceil(size / 330)),
    }
    const { kind, spoil } = breakages[index % breakages.length]!
    return { kind, text: spoil(value), value }
  })
}

/** A log as terminals show it: records among noise, some in colour, some with CRLF, some inside fences. */
export function mixedLog(bytes: number): { input: Buffer; records: string[] } {
  const next = random(3)
  const records = agentLines(bytes * 0.8, 200, 4000, 4)
  const pieces: string[] = []
  for (const record of records) {
    const dress = next()
    if (dress < 0.11) pieces.push(`\u001b[2m${record}\u001b[0m\n`)
    else if (dress < 0.2) pieces.push(`${record}\r\n`)
    else if (dress < 0.25) pieces.push(`\`\`\`json\n${record}\n\`\`\`\n`)
    else pieces.push(`${record}\n`)
    for (let noise = next() * 4; noise > 1; noise--) {
      const words = prose(next, 20 + Math.floor(next() * 150)).replaceAll('\n', ' ')
      pieces.push(next() < 0.3 ? `\u001b[33mwarn\u001b[0m ${words}\n` : `${words}\n`)
    }
  }
  return { input: Buffer.from(pieces.join('')), records }
}

/** The texts of the agent's messages among its records. */
export function messagesOf(records: readonly string[]): string[] {
  return records.flatMap((line) => {
    const { item } = JSON.parse(line)
    return item.type === 'agent_message' ? [item.text] : []
  })
}

/** One value whose text has about so many characters. */
export function document(length: number): { issues: unknown[] } {
  const next = random(7)
  return { issues: issues(next, Math.ceil(length / 235)) }
}

/** Texts of array elements, so many bytes of them. */
export function elements(bytes: number): string[] {
  const next = random(8)
  const texts: string[] = []
  for (let made = 0; made < bytes; made += texts.at(-1)!.length + 1) texts.push(JSON.stringify(issue(next)))
  return texts
}

/** Prose with an object every few hundred characters: in a sentence, on a line of its own, after a call. */
export function objectsInProse(bytes: number): { input: Buffer; values: unknown[] } {
  const next = random(11)
  const values: unknown[] = []
  const pieces: string[] = []
  let made = 0
  while (made < bytes) {
    const value = { id: values.length, issue: issue(next) }
    const json = JSON.stringify(value, null, next() < 0.2 ? 2 : 0)
    const words = plain(next, 40 + Math.floor(next() * 400))
    const place = next()
    const piece =
      place < 0.4
        ? `${words} so the result is ${json}, as asked.\n`
        : place < 0.8
          ? `${words}\n${json}\n\n`
          : `${words} run(it) gave (for now) ${json}\n`
    values.push(value)
    pieces.push(piece)
    made += piece.length
  }
  return { input: Buffer.from(pieces.join('')), values }
}
