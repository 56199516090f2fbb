import { arch, availableParallelism, cpus, platform, totalmem } from 'node:os'
import type { LinearResult } from './linear.ts'
import type { SceneResult } from './measure.ts'
import type { MemoryResult } from './memory.ts'

/** What a run of the bench has to tell; bench/results.json is one of these. */
export interface Results {
  readonly machine: ReturnType<typeof machine>
  readonly date: string
  readonly command: string
  readonly quick: boolean
  /** How often each candidate was measured; 0 if answers were only checked. */
  readonly rounds: number
  readonly scenes: readonly SceneResult[]
  readonly memory: readonly MemoryResult[]
  readonly linear: readonly LinearResult[]
}

export function machine() {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${platform()} ${arch()}`,
    node: process.version,
  }
}
