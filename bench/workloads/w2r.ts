import type { Readable } from 'node:stream'
import { HONEST, honestLimit, limit, plainLines } from '../limits.ts'
import { answerTo, type Candidate, type Goal, type Scene, type Workload } from '../measure.ts'
import { engineLines, logOf, mixedLines, recordsOf } from '../real-lines.ts'
import { batched, chunksOf, source } from '../source.ts'
import { AHEAD, linePeers, OURS, sluice } from './lines.ts'

/** Engines with enough lines of their own; the others are only in the mix. */
const ENGINES = ['codex', 'opencode', 'gemini', 'qwen', 'copilot', 'pi']

const PLAIN = 'plain Transform by hand'

export const w2r: Workload = {
  id: 'W2r',
  title: 'real NDJSON',
  input: 'records that agents wrote, tool output inside; most bytes are in long lines, many are not ASCII',
  async *scenes(quick) {
    yield* scenesOf('all engines', mixedLines((quick ? 5 : 24) << 20), quick ? [65_536, 4095] : SIZES)
    for (const engine of quick ? ENGINES.slice(0, 4) : ENGINES) {
      yield* scenesOf(engine, engineLines(engine, (quick ? 2 : 12) << 20), quick ? [65_536] : SIZES)
    }
    if (!quick) yield* scenesOf('lines up to 4 KiB', shortLines(1 << 18), [64])
  },
}

const SIZES = [65_536, 4095, 1 << 20]
const SIZE_NAMES = new Map([
  [65_536, '64 KiB chunks'],
  [4095, '4,095 B chunks'],
  [1 << 20, '1 MiB chunks'],
  [64, '64 B chunks'],
])

async function* scenesOf(
  name: string,
  lines: readonly Buffer[],
  sizes: readonly number[],
): AsyncGenerator<Scene> {
  const input = logOf(lines)
  const expected = await answerTo(recordsOf(lines))
  for (const size of sizes) {
    const chunks = chunksOf(input, size)
    const open = () => source(chunks)
    yield {
      name: `${name}, ${SIZE_NAMES.get(size)}`,
      bytes: input.length,
      expected,
      candidates: [
        sluice(OURS, open, batched),
        ...linePeers(open, batched),
        plain(open),
        honestLimit(open),
        limit(input),
      ],
      goals: [...(size === 65_536 ? [NEAR] : []), AHEAD],
    }
  }
}

const NEAR: Goal = { ours: OURS, against: HONEST, atLeast: 0.95 }

/**
 * The first lines of the mix that are not long: on a long line in small chunks ndjson and split2 are
 * quadratic.
 */
function shortLines(bytes: number): Buffer[] {
  let room = bytes
  return mixedLines(1).filter((line) => {
    if (line.length > 4096 || room < 0) return false
    room -= line.length + 1
    return true
  })
}

function plain(open: () => Readable): Candidate {
  return {
    name: PLAIN,
    role: 'peer',
    run: (visit) => batched<{ value: unknown }>(open().pipe(plainLines()), ({ value }) => visit(value)),
  }
}
