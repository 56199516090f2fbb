import {
  type BlockEnd,
  type BlockFilter,
  type Broker,
  Rewound,
  type RunName,
  type StoredBlock,
} from '../../src/nats/broker.ts'

/** A broker in memory, with the troubles of a real one on demand. */
export interface MemoryBroker extends Broker {
  readonly blocks: readonly StoredBlock[]
  /** What the next calls do in place of their work: nothing arrives, or it arrives and the answer is lost. */
  readonly trouble: ('lost' | 'unanswered')[]
  /** Forgets the last blocks, as a server does whose disk lost them. */
  lose(blocks: number): void
}

function matches(name: RunName, { tenant = name.tenant, run = name.run }: BlockFilter): boolean {
  return tenant === name.tenant && run === name.run
}

export function memoryBroker({ maxBlock = 64 * 1024 } = {}): MemoryBroker {
  const blocks: StoredBlock[] = []
  const trouble: ('lost' | 'unanswered')[] = []
  let wake = () => {}
  const lastOf = ({ tenant, run }: RunName) =>
    blocks.findLast(({ name }) => name.tenant === tenant && name.run === run)
  const failing = async <T>(act: () => T): Promise<T> => {
    const now = trouble.shift()
    if (now === 'lost') throw new Error('no answer')
    const answer = act()
    if (now === 'unanswered') throw new Error('no answer')
    return answer
  }
  return {
    maxBlock,
    blocks,
    trouble,
    lose: (count) => void blocks.splice(-count),
    append: (name: RunName, end: BlockEnd, bytes, after) =>
      failing(() => {
        if ((lastOf(name)?.at ?? 0) !== after) return undefined
        const at = (blocks.at(-1)?.at ?? 0) + 1
        blocks.push({ at, name, end, bytes: Buffer.from(bytes) })
        wake()
        return at
      }),
    last: (name) => failing(() => lastOf(name)),
    state: async () => ({ id: 'memory', last: blocks.at(-1)?.at ?? 0 }),
    pending: async (after, filter) =>
      blocks.filter(({ at, name }) => at > after && matches(name, filter)).length,
    async *read(from, filter, signal) {
      signal.addEventListener('abort', () => wake())
      for (let next = from; !signal.aborted; ) {
        if ((blocks.at(-1)?.at ?? 0) < next - 1) throw new Rewound('the blocks are gone')
        const block = blocks.find(({ at }) => at >= next)
        if (!block) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          continue
        }
        next = block.at + 1
        if (matches(block.name, filter)) yield block
      }
    },
    order: async () => undefined,
    takeOrders() {},
    reachable: async (signal) => signal.throwIfAborted(),
    close: async () => {},
  }
}
