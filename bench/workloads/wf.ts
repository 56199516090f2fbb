import type { Readable } from 'node:stream'
import { agentLines } from '../make.ts'
import { answerTo, type Candidate, type Goal, type Scene, type Workload } from '../measure.ts'
import { product } from '../product.ts'
import { batched, chunksOf, source } from '../source.ts'

const WANTED = 'turn.completed'
const OURS = 'values({lines, where})'
const EVERY = 'find LF, decode, JSON.parse'
const LF = 10

export const wf: Workload = {
  id: 'WF',
  title: 'records of one type',
  input: 'records of 200 B to 4 KB, one a line, of which a share is wanted',
  async *scenes(quick) {
    const goals = [
      { ours: OURS, against: EVERY, atLeast: 3 },
      { ours: OURS, against: BEFORE, atLeast: 3 },
    ]
    const bytes = (quick ? 16 : 32) << 20
    yield* sceneOf(bytes, 100, 65_536, goals)
    if (quick) return
    yield* sceneOf(bytes, 100, 4095)
    yield* sceneOf(bytes, 2, 65_536)
    yield* sceneOf(bytes, 2, 4095)
  },
}

/** One record in `every` is wanted. */
async function* sceneOf(
  bytes: number,
  every: number,
  size: number,
  goals: readonly Goal[] = [],
): AsyncGenerator<Scene> {
  const lines = agentLines(bytes, 200, 4000).map((line, index) =>
    index % every === every >> 1 ? line.replace(/"type":"item\.\w+"/, `"type":"${WANTED}"`) : line,
  )
  const wanted = lines.map((line) => JSON.parse(line)).filter(isWanted)
  const input = Buffer.from(`${lines.join('\n')}\n`)
  const chunks = chunksOf(input, size)
  const open = () => source(chunks)
  yield {
    name: `1 of ${every}, ${size === 4095 ? '4,095 B' : '64 KiB'} chunks`,
    bytes: input.length,
    expected: await answerTo(wanted),
    candidates: candidates(open, lines),
    goals,
  }
}

function isWanted(record: { type?: unknown }): boolean {
  return record.type === WANTED
}

const BEFORE = 'JSON.parse, lines split before'

function candidates(open: () => Readable, lines: readonly string[]): Candidate[] {
  return [
    ours(OURS, open, { type: WANTED }),
    ours('values({lines}), then compared', open),
    {
      name: EVERY,
      role: 'peer',
      run: (visit) =>
        eachLine(open(), (text) => {
          const record = JSON.parse(text)
          if (isWanted(record)) visit(record)
        }),
    },
    {
      name: BEFORE,
      role: 'peer',
      run(visit) {
        for (const line of lines) {
          const record = JSON.parse(line)
          if (isWanted(record)) visit(record)
        }
      },
    },
  ]
}

function ours(name: string, open: () => Readable, where?: { type: string }): Candidate {
  return {
    name,
    role: 'ours',
    run: (visit) =>
      batched<{ ok: boolean; value?: { type?: unknown } }>(
        open().pipe(product.values({ lines: true, where })),
        ({ ok, value }) => {
          if (ok && value && isWanted(value)) visit(value)
        },
      ),
  }
}

/** The least that must be done to have every line as text. */
function eachLine(stream: Readable, visit: (text: string) => void): Promise<void> {
  let rest: Buffer = Buffer.alloc(0)
  return batched<Buffer>(stream, (chunk) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    let from = 0
    for (let to = bytes.indexOf(LF); to >= 0; to = bytes.indexOf(LF, from)) {
      visit(bytes.toString('utf8', from, to))
      from = to + 1
    }
    rest = bytes.subarray(from)
  })
}
