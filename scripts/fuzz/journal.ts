import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import fc from 'fast-check'
import { Fault } from '../../src/base/fault.ts'
import { journal } from '../../src/disk/journal.ts'
import { makeEvent } from '../../test/disk/make-event.ts'

const anEvent = fc.record({ size: fc.oneof(fc.nat(60), fc.nat(70_000)), diagnostic: fc.boolean() })
const aSpoiling = fc.record({
  how: fc.constantFrom('torn', 'torn', 'byte', 'gone', 'twice', 'nul', 'swapped', 'crlf', 'more'),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  byte: fc.nat(255),
})

function spoil(
  lines: readonly string[],
  { how, at, byte }: { how: string; at: number; byte: number },
): Buffer {
  const whole = Buffer.from(lines.join(''))
  const place = Math.floor(at * whole.length)
  const line = Math.floor(at * lines.length)
  const without = lines.filter((_, i) => i !== line)
  switch (how) {
    case 'torn':
      return whole.subarray(0, place)
    case 'byte':
      return Buffer.concat([whole.subarray(0, place), Buffer.from([byte]), whole.subarray(place + 1)])
    case 'gone':
      return Buffer.from(without.join(''))
    case 'twice':
      return Buffer.from([...lines.slice(0, line + 1), ...lines.slice(line)].join(''))
    case 'nul':
      return Buffer.concat([whole.subarray(0, place), Buffer.alloc(1 + byte)])
    case 'swapped':
      return Buffer.from([...without, lines[line] ?? ''].join(''))
    case 'crlf':
      return Buffer.from(whole.toString().replaceAll('\n', '\r\n'))
    default:
      return Buffer.concat([whole, Buffer.from('{"protocol_version":"rasp/1.0"')])
  }
}

/**
 * A journal that something has spoiled, and a run that is fed again: either it has exactly the events of the
 * run in the end, or it is refused with a fault and not a byte of it was changed.
 */
export const journals = fc.asyncProperty(
  fc.array(anEvent, { minLength: 1, maxLength: 12 }),
  fc.double({ min: 0, max: 1, noNaN: true }),
  aSpoiling,
  async (plan, written, spoiling) => {
    const events = plan.map(({ size, diagnostic }, i) =>
      makeEvent(i + 1, { text: 'é"\n'.repeat(size).slice(0, size), diagnostic }),
    )
    const lines = events.map((event) => `${JSON.stringify(event)}\n`)
    const base = mkdtempSync(join(tmpdir(), 'sluice-fuzz-'))
    const dir = join(base, 'audit')
    const path = join(dir, 'events.jsonl')
    const before = spoil(lines.slice(0, Math.ceil(written * lines.length)), spoiling)
    mkdirSync(dir, { mode: 0o700 })
    writeFileSync(path, before)
    try {
      await pipeline(Readable.from(events), journal(dir, { fsync: 'end' }), async (passed) => {
        for await (const _ of passed);
      })
      const after = readFileSync(path)
      if (!isSame(after, lines)) throw new Error(`it was taken, and has other events: ${after.length} bytes`)
    } catch (error) {
      if (!Fault.is(error)) throw error
      if (error.code !== 'JOURNAL_MISMATCH') throw error
      const after = readFileSync(path)
      // What it had passed on before the fault is whole lines behind what was there.
      if (!after.subarray(0, before.length).equals(before) && !before.subarray(0, after.length).equals(after))
        throw new Error('it was refused, and changed')
    } finally {
      rmSync(base, { recursive: true })
    }
  },
)

/** Whether the journal has these events: a changed byte may leave an event that reads the same. */
function isSame(found: Buffer, lines: readonly string[]): boolean {
  const read = found.toString().split('\n')
  if (read.pop() !== '' || read.length !== lines.length) return false
  return read.every((line, i) => placeOf(line) === placeOf(lines[i]!))
}

function placeOf(line: string): string {
  try {
    const { attempt_number, seq } = JSON.parse(line) as { attempt_number: number; seq: number }
    return `${attempt_number}.${seq}`
  } catch {
    return `no event: ${line.slice(0, 40)}`
  }
}
