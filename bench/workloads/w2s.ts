import type { Workload } from '../measure.ts'
import { LIMIT, lineScenes, OURS } from './lines.ts'

export const w2s: Workload = {
  id: 'W2s',
  title: 'short agent NDJSON',
  input: 'records of about 150 B, one a line',
  scenes(quick) {
    const goals = [
      { ours: OURS, against: 'ndjson', atLeast: 1 },
      { ours: OURS, against: LIMIT, atLeast: 0.8 },
    ]
    return lineScenes({ bytes: (quick ? 4 : 8) << 20, min: 135, max: 165, goals }, quick)
  },
}
