import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { takeLock } from '../../src/disk/lock.ts'
import { type EndedRuns, findRuns } from '../../src/serve/runs.ts'
import { lineAt, writeRun } from '../nats/runs.ts'

let dir = ''
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-runs-')))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('a run that is over is read once, and again when its journal, its folder or its lock changes', () => {
  writeRun(join(dir, 'r1'), 'r1', 2)
  writeRun(join(dir, 'r2'), 'r2', 2)
  const ended: EndedRuns = new Map()
  const find = () => findRuns(dir, { ended })
  const stateOf = (id: string) => find().find(({ info }) => info.id === id)?.info
  const [first] = find()
  expect(find()[0]).toEqual(first)
  expect(find()[0]!.info).toBe(first!.info)
  expect([...ended.keys()]).toEqual([join(dir, 'r1'), join(dir, 'r2')])
  const lock = takeLock(join(dir, 'r1', 'journal.lock'))
  expect(stateOf('r1')?.state).toBe('running')
  expect(ended.has(join(dir, 'r1'))).toBe(false)
  lock.release()
  expect(stateOf('r1')?.state).toBe('unknown')
  const end = JSON.parse(lineAt('r1', 1, 3))
  const completion = { type: 'lifecycle.completion.state', data: { state: 'completed', evidence: {} } }
  appendFileSync(join(dir, 'r1', 'events.jsonl'), `${JSON.stringify({ ...end, ...completion })}\n`)
  expect(stateOf('r1')?.state).toBe('completed')
  // With logs beside it, it is looked at each time: their meta is written over.
  writeFileSync(join(dir, 'r2', 'stdout.1.log'), 'x')
  expect(stateOf('r2')?.streams).toHaveLength(1)
  expect([...ended.keys()]).toEqual([join(dir, 'r1')])
  rmSync(join(dir, 'r1'), { recursive: true })
  mkdirSync(join(dir, 'r1'))
  expect(find()).toHaveLength(1)
  expect(ended.size).toBe(0)
})
