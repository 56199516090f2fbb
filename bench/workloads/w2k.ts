import { HONEST, honestLimit, limit } from '../limits.ts'
import { answerTo, type Workload } from '../measure.ts'
import { logOf, mixedLines, recordsOf } from '../real-lines.ts'
import { batched, chunksOf, source } from '../source.ts'
import { linePeers, OURS, PEERS, sluice } from './lines.ts'

export const w2k: Workload = {
  id: 'W2k',
  title: 'short real records',
  input: 'the records under 2 KB that agents wrote, all engines shuffled, counted one by one',
  async *scenes(quick) {
    const lines = mixedLines((quick ? 8 : 40) << 20).filter(({ length }) => length < 2048)
    const input = logOf(lines)
    const expected = await answerTo(recordsOf(lines))
    for (const [name, size] of [
      ['64 KiB chunks', 65_536],
      ['4,095 B chunks', 4095],
    ] as const) {
      const chunks = chunksOf(input, size)
      const open = () => source(chunks)
      yield {
        name,
        bytes: input.length,
        expected,
        unit: 'thousands',
        candidates: [
          sluice(OURS, open, batched),
          ...linePeers(open, batched),
          honestLimit(open),
          limit(input),
        ],
        goals: [{ ours: OURS, against: PEERS, atLeast: 1.5, within: HONEST }],
      }
    }
  },
}
