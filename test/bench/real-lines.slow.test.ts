import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lineStatistics, packedStatistics } from '../../bench/line-statistics.ts'
import {
  endsOf,
  engineLines,
  LINES,
  logOf,
  mixedLines,
  mixedRuns,
  realRuns,
  recordsOf,
} from '../../bench/real-lines.ts'

const committed = JSON.parse(readFileSync(join(LINES, 'statistics.json'), 'utf8'))

test('the packed lines have the statistics that are committed beside them', () => {
  expect(packedStatistics()).toEqual(committed)
})

test('the mix is what real output is: short records, most bytes in long lines, many of them not ASCII', () => {
  expect(committed.all.median).toBeLessThan(300)
  expect(committed.all.over_64k).toBeGreaterThan(0.5)
  expect(committed.all.non_ascii).toBeGreaterThan(0.05)
})

test('every packed line is a record', () => {
  for (const runs of realRuns().values())
    for (const record of recordsOf(runs.flat())) expect(record).toBeTypeOf('object')
})

test.each([
  ['codex', engineLines('codex', 6e6)],
  ['qwen', engineLines('qwen', 2e6)],
  ['all', mixedLines(1e7)],
  ['all', mixedRuns(1e7)],
])('growing the lines of %s changes how many they are and nothing else', (name, lines) => {
  const { lines: count, bytes, ...shares } = lineStatistics(lines)
  const { lines: packed, bytes: once, ...expected } = committed[name]
  expect(count).toBeGreaterThan(packed)
  expect(count % packed).toBe(0)
  expect(bytes / count).toBe(once / packed)
  expect(shares).toEqual(expected)
  expect(logOf(lines).length).toBe([...endsOf(lines)].at(-1))
})

test('a log is the same each time it is grown, and its repetitions are in another order', () => {
  const log = logOf(mixedLines(1e7))
  expect(log.equals(logOf(mixedLines(1e7)))).toBe(true)
  expect(log.subarray(0, log.length / 2).equals(log.subarray(log.length / 2))).toBe(false)
})

test('an engine alone keeps the order inside each run', () => {
  const [run] = realRuns().get('codex')!
  const text = logOf(engineLines('codex', 1)).toString('latin1')
  expect(text).toContain(logOf(run!).toString('latin1'))
})
