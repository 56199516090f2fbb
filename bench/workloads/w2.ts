import type { Workload } from '../measure.ts'
import { lineScenes } from './lines.ts'

export const w2: Workload = {
  id: 'W2',
  title: 'agent NDJSON',
  input: 'records of 200 B to 4 KB, one a line',
  scenes(quick) {
    return lineScenes({ bytes: (quick ? 8 : 16) << 20, min: 200, max: 4000 }, quick)
  },
}
