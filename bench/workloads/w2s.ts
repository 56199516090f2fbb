import type { Workload } from '../measure.ts'
import { LIMIT, lineScenes, OURS } from './lines.ts'

export const w2s: Workload = {
  id: 'W2s',
  title: 'short agent NDJSON',
  input: 'records of about 150 B, one a line',
  scenes: (quick) =>
    lineScenes((quick ? 4 : 8) << 20, 135, 165, [
      { ours: OURS, against: 'ndjson', atLeast: 1 },
      { ours: OURS, against: LIMIT, atLeast: 0.8 },
    ]),
}
