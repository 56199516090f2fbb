import type { Workload } from '../measure.ts'
import { lineScenes } from './lines.ts'

export const w2s: Workload = {
  id: 'W2s',
  title: 'short agent NDJSON',
  input: 'records of about 150 B, one a line',
  scenes(quick) {
    return lineScenes({ bytes: (quick ? 4 : 8) << 20, min: 135, max: 165 }, quick)
  },
}
