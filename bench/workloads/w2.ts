import type { Workload } from '../measure.ts'
import { LIMIT, lineScenes, OURS } from './lines.ts'

export const w2: Workload = {
  id: 'W2',
  title: 'agent NDJSON',
  input: 'records of 200 B to 4 KB, one a line',
  scenes(quick) {
    const goals = [
      { ours: OURS, against: 'ndjson', atLeast: 2 },
      { ours: OURS, against: LIMIT, atLeast: 0.7 },
    ]
    return lineScenes({ bytes: (quick ? 8 : 16) << 20, min: 200, max: 4000, goals }, quick)
  },
}
