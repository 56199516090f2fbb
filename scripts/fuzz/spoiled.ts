import fc from 'fast-check'
import { fixtures } from '../../test/engines/fixture.ts'

const LATIN = 'latin1'
/** Longer lines of recordings are only more of the same. */
const MAX_LINE = 5000

/** The lines of recorded channels, as Latin-1, so that every byte is a character. */
export function recordedLines(channel: 'stdout' | 'stderr' | 'pty', engine?: RegExp): string[] {
  const lines = fixtures()
    .filter((fixture) => !engine || engine.test(fixture.engine))
    .flatMap(({ logs }) => logs.filter((log) => log.channel === channel))
    .flatMap(({ bytes }) => Buffer.from(bytes).toString(LATIN).split('\n'))
  return [...new Set(lines)].filter((line) => line !== '' && line.length <= MAX_LINE)
}

const values = [null, true, -1, 1.5, '', 'x', '\u0000', 'é"\\', [], {}, [[]], { type: 'x' }, 2 ** 53]

/** One place of a JSON value has another value, is missing, or is there under another name. */
function spoilValue(value: unknown, path: readonly number[], what: number): unknown {
  const [step, ...rest] = path
  if (typeof value !== 'object' || value === null || step === undefined) return values[what % values.length]
  const entries = Object.entries(value)
  if (entries.length === 0) return values[what % values.length]
  const at = step % entries.length
  const [key, inner] = entries[at]!
  const ways: [string, unknown][][] = [
    [], // gone
    [[key, values[what % values.length]]],
    [['other', inner]],
    [[key, [inner]]],
  ]
  const spoiled = rest.length > 0 ? [[key, spoilValue(inner, rest, what)] as const] : ways[what % 4]!
  const made = [...entries.slice(0, at), ...spoiled, ...entries.slice(at + 1)]
  return Array.isArray(value) ? made.map(([, each]) => each) : Object.fromEntries(made)
}

/** A line as a faulty or hostile agent would write it: its record spoiled, its text cut, glued or changed. */
export function spoiled(lines: readonly string[]): fc.Arbitrary<string> {
  return fc
    .record({
      line: fc.constantFrom(...lines),
      other: fc.constantFrom(...lines),
      how: fc.constantFrom('same', 'same', 'value', 'value', 'value', 'cut', 'glued', 'byte', 'broken'),
      path: fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }),
      what: fc.nat(60),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ line, other, how, path, what, at }) => {
      const place = Math.floor(at * line.length)
      if (how === 'value') {
        try {
          const made = JSON.stringify(spoilValue(JSON.parse(Buffer.from(line, LATIN).toString()), path, what))
          return Buffer.from(made).toString(LATIN)
        } catch {
          return line.slice(0, place)
        }
      }
      if (how === 'cut') return line.slice(0, place)
      if (how === 'glued') return line.slice(0, place) + other
      if (how === 'byte')
        return `${line.slice(0, place)}${String.fromCharCode(what * 4)}${line.slice(place + 1)}`
      return how === 'broken' ? `${line.slice(0, place)}\n${line.slice(place)}` : line
    })
}
