import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import split2 from 'split2'
import type { Chunk, AgentEvent as Event } from '../../src/index.ts'
import { agentLines, messagesOf } from '../make.ts'
import { answerTo, type Candidate, type Visit, type Workload } from '../measure.ts'
import { product } from '../product.ts'
import { batched, chunksOf, source } from '../source.ts'

const OURS = 'events(codex)'
const SPLIT2 = 'split2 + a Set of sha256'
const LIMIT = 'events(codex), nothing to dedupe'

export const w6: Workload = {
  id: 'W6',
  title: 'each record once',
  input: 'agent NDJSON on stdout, the same with CRLF on a PTY',
  async *scenes(quick) {
    const lines = agentLines((quick ? 4 : 8) << 20, 200, 4000, 6)
    const messages = messagesOf(lines)
    const stdout = Buffer.from(`${lines.join('\n')}\n`)
    const pty = Buffer.from(`${lines.join('\r\n')}\r\n`)
    const expected = await answerTo(messages)
    const twice = await answerTo([...messages, ...messages])
    const both = interleaved(stdout, pty)
    const candidates: Candidate[] = [
      { name: OURS, role: 'ours', run: (visit) => say(both, visit) },
      { name: SPLIT2, role: 'peer', run: (visit) => bySet(stdout, pty, visit) },
      {
        name: LIMIT,
        role: 'limit',
        expected: twice,
        run: (visit) => say(alone(Buffer.concat([stdout, pty])), visit),
      },
    ]
    const goals = [
      { ours: OURS, against: SPLIT2, atLeast: 2 },
      { ours: OURS, against: LIMIT, atLeast: 0.65 },
    ]
    yield { name: '64 KiB chunks', bytes: stdout.length + pty.length, expected, candidates, goals }
  },
}

/** Chunks of both channels in turn, as a terminal and a pipe give them. */
function interleaved(stdout: Buffer, pty: Buffer): Chunk[] {
  const copies = chunksOf(pty, 65_536)
  return chunksOf(stdout, 65_536)
    .flatMap((bytes, index): Chunk[] => {
      const copy = copies[index]
      return [{ channel: 'stdout', bytes }, ...(copy ? [{ channel: 'pty' as const, bytes: copy }] : [])]
    })
    .concat(copies.slice(Math.ceil(stdout.length / 65_536)).map((bytes) => ({ channel: 'pty', bytes })))
}

/** The same bytes on one channel that is known to be the only one. */
function alone(bytes: Buffer): Chunk[] {
  return chunksOf(bytes, 65_536).map((piece) => ({ channel: 'stdout', bytes: piece, channels: ['stdout'] }))
}

function say(chunks: readonly Chunk[], visit: Visit): Promise<void> {
  let at = 0
  const stream = new Readable({
    objectMode: true,
    read() {
      this.push(chunks[at++] ?? null)
    },
  })
  return batched<Event>(stream.pipe(product.events('codex')), ({ event, data }) => {
    if (event.type === 'agent.message.final' && 'text' in data) visit(data.text)
  })
}

/** What one writes by hand: the first copy is parsed, the second is recognised by its hash. */
async function bySet(stdout: Buffer, pty: Buffer, visit: Visit): Promise<void> {
  const seen = new Set<string>()
  const read = (bytes: Buffer) =>
    batched<string>(source(chunksOf(bytes, 65_536)).pipe(split2()), (line) => {
      const key = createHash('sha256').update(line).digest('hex')
      if (seen.has(key)) return
      seen.add(key)
      const { item } = JSON.parse(line)
      if (item.type === 'agent_message') visit(item.text)
    })
  await Promise.all([read(stdout), read(pty)])
}
