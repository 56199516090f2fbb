import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import ndjson from 'ndjson'
import split2 from 'split2'
import { messagesOf, mixedLog } from '../make.ts'
import { type Answer, answerTo, type Candidate, type Visit, type Workload } from '../measure.ts'
import { product } from '../product.ts'
import { batched, chunksOf, oneByOne, source } from '../source.ts'

const OURS = 'values({lines})'
const SPLIT2 = 'split2, every line tried'

export const w3: Workload = {
  id: 'W3',
  title: 'records in a terminal log',
  input: 'NDJSON with noise, fences, colour and CRLF',
  async *scenes(quick) {
    const { input, records } = mixedLog((quick ? 8 : 16) << 20)
    const expected = await answerTo(records.map((line) => JSON.parse(line)))
    const messages = await answerTo(messagesOf(records))
    const base = { bytes: input.length, expected }
    for (const size of quick ? [65_536] : [65_536, 4095]) {
      const name = size === 65_536 ? '64 KiB chunks' : '4,095 B chunks'
      const chunks = chunksOf(input, size)
      const goals = size === 65_536 ? [{ ours: OURS, against: SPLIT2, atLeast: 2.2 }] : []
      yield { ...base, name, candidates: candidates(() => source(chunks), messages), goals }
    }
  },
}

function candidates(open: () => Readable, messages: Answer): Candidate[] {
  return [
    {
      name: OURS,
      role: 'ours',
      run: (visit) =>
        batched<{ ok: boolean; value?: unknown }>(
          open().pipe(product.values({ lines: true })),
          (outcome) => outcome.ok && visit(outcome.value),
        ),
    },
    {
      name: 'events(codex), data',
      role: 'ours',
      expected: messages,
      run: (visit) => say(open(), visit, batched),
    },
    {
      name: 'events(codex), for await',
      role: 'ours',
      expected: messages,
      run: (visit) => say(open(), visit, oneByOne),
    },
    {
      name: SPLIT2,
      role: 'peer',
      run: (visit) => batched<string>(open().pipe(split2()), (line) => tryLine(plain(line), visit)),
    },
    {
      name: 'split2, lines with { tried',
      role: 'peer',
      run: (visit) => batched<string>(open().pipe(split2()), (line) => tryRecord(plain(line), visit)),
    },
    {
      name: 'readline, lines with { tried',
      role: 'peer',
      async run(visit) {
        for await (const line of createInterface({ input: open() })) tryRecord(plain(line), visit)
      },
    },
    {
      name: 'ndjson, strict: false',
      role: 'peer',
      run: (visit) => batched(open().pipe(ndjson.parse({ strict: false })), visit),
    },
  ]
}

/** The texts of the agent's messages, of all the events there are. */
function say(stream: Readable, visit: Visit, read: typeof batched): Promise<void> {
  const { events } = product
  return read<import('../../src/index.ts').AgentEvent>(stream.pipe(events('codex')), ({ event, data }) => {
    if (event.type === 'agent.message.final' && 'text' in data) visit(data.text)
  })
}

function plain(line: string): string {
  return line.includes('\u001b') ? stripVTControlCharacters(line) : line
}

function tryRecord(line: string, visit: Visit): void {
  if (line.startsWith('{')) tryLine(line, visit)
}

function tryLine(line: string, visit: Visit): void {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return
  }
  visit(value)
}
