import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { AgentEvent } from '../../src/events/event.ts'
import { makeEvent } from '../../test/disk/make-event.ts'
import { type Death, resumedFault, tornFault, writers } from '../../test/faults/killed-writer.ts'

const anEvent = fc.record({
  // Around the size of the block in which a journal reads its own end, and mostly small.
  size: fc.oneof({ weight: 4, arbitrary: fc.nat(200) }, fc.nat(150_000)),
  diagnostic: fc.boolean(),
  /** The first of a new attempt. */
  again: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
})
const aDeath: fc.Arbitrary<Death> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      // Opening takes 12 calls, an event one to four.
      call: fc.integer({ min: 1, max: 50 }),
      part: fc.constantFrom(0, 0.01, 0.5, 0.99, 1),
    }),
  },
  // The only moment that the seed does not decide.
  fc.record({ ms: fc.nat(30) }),
)

/** Writers are started with the first case. */
let made: ReturnType<typeof writers> | undefined
process.once('exit', () => made?.remove())

/**
 * A journal whose writer is killed again and again, each feeding the same run from its beginning: the file is
 * always a prefix with everything that was acknowledged, and the last writer, which is not killed, completes
 * it.
 */
export const kills = fc.asyncProperty(
  fc.array(anEvent, { minLength: 1, maxLength: 25 }),
  fc.array(aDeath, { minLength: 1, maxLength: 4 }),
  fc.constantFrom('each', 'interval', 'end'),
  async (plan, deaths, fsync) => {
    made ??= writers()
    const base = mkdtempSync(join(tmpdir(), 'sluice-fuzz-'))
    const dir = join(base, 'audit')
    const events = numbered(plan)
    try {
      for (const death of [...deaths, undefined]) {
        const { signal, acknowledged } = await made.write(dir, events, death, fsync)
        const fault = tornFault(dir, events, acknowledged)
        if (fault) throw new Error(`${fault} (${JSON.stringify(death)})`)
        if (death === undefined && signal !== null) throw new Error(`the last writer ended by ${signal}`)
      }
      const fault = resumedFault(dir, events)
      if (fault) throw new Error(fault)
    } finally {
      rmSync(base, { recursive: true })
    }
  },
)

function numbered(plan: readonly { size: number; diagnostic: boolean; again: boolean }[]): AgentEvent[] {
  let [attempt, seq] = [1, 0]
  return plan.map(({ size, diagnostic, again }) => {
    if (again && seq > 0) [attempt, seq] = [attempt + 1, 0]
    return makeEvent(++seq, { text: 'é"\n'.repeat(size).slice(0, size), diagnostic, attempt })
  })
}
