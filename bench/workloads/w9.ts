import type { EngineName } from '../../src/engines/engine-name.ts'
import type { AgentEvent } from '../../src/index.ts'
import { LIMIT, limit } from '../limits.ts'
import { type Answer, answerTo, type Candidate, type Scene, type Workload } from '../measure.ts'
import { product } from '../product.ts'
import { endsOf, endsReached, engineLines, logOf, mixedRuns, realRuns, recordsOf } from '../real-lines.ts'
import { batched, chunksOf, source } from '../source.ts'

export const w9: Workload = {
  id: 'W9',
  title: 'events of each engine',
  input: 'the lines under 20 KB that the engine wrote, run after run, in chunks of 64 KiB',
  async *scenes(quick) {
    const bytes = (quick ? 1 : 4) << 20
    // Cast: the files of packed lines are named after their engines.
    for (const engine of realRuns().keys() as MapIterator<EngineName>) {
      const atLeast = GOALS[engine] ?? 0.2
      const goals = [{ ours: EVENTS, against: LIMIT, atLeast }]
      yield { ...(await scene(engine, engineLines(engine, bytes))), goals }
    }
    yield { ...(await scene('auto', mixedRuns(bytes))), name: 'all engines, picked by the first' }
  },
}

const GOALS: Partial<Record<EngineName, number>> = { codex: 0.26, opencode: 0.28, qwen: 0.24, gemini: 0.24 }

const EVENTS = 'events'

async function scene(engine: EngineName, all: readonly Buffer[]): Promise<Scene> {
  const lines = all.filter(({ length }) => length < 20_000)
  const input = logOf(lines)
  const ends = await answerTo(endsOf(lines))
  return {
    name: engine,
    bytes: input.length,
    expected: await answerTo(recordsOf(lines)),
    candidates: [
      events(EVENTS, engine, input, ends),
      // What is put off until someone reads the event costs here.
      events('events, each stringified', engine, input, ends, (event) => JSON.stringify(event)),
      limit(input),
    ],
  }
}

function events(
  name: string,
  engine: EngineName,
  input: Buffer,
  ends: Answer,
  read: (event: AgentEvent) => unknown = () => {},
): Candidate {
  const chunks = chunksOf(input, 65_536)
  return {
    name,
    role: 'ours',
    expected: ends,
    run(visit) {
      const reached = endsReached()
      return batched<AgentEvent>(source(chunks).pipe(product.events(engine)), (event) => {
        read(event)
        reached(event, visit)
      })
    },
  }
}
