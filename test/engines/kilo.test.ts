import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { auto } from '../../src/engines/auto.ts'
import { eventsOf, fixtures, inPieces } from './fixture.ts'
import { codesOf, endOf, only, texts } from './run.ts'

const own = fixtures().filter(({ engine }) => engine === 'kilo')

test.each(own)('reads $name as a plain walk over its lines does', (fixture) => {
  const log = readFileSync(join(fixture.path, 'stdout.log'), 'utf8').trim().split('\n')
  const records = log.map((line) => JSON.parse(line))
  const parts = (type: string) => records.filter((record) => record.type === type).map(({ part }) => part)
  const failed = records.some(({ type }) => type === 'error')

  const events = eventsOf(fixture, inPieces(fixture))
  expect(new Set(events.map(({ source }) => source.engine))).toEqual(new Set(['kilo']))
  expect(texts(events)).toEqual(parts('text').map(({ text }) => text))
  expect(events.at(-1)!.correlation.session_id).toBe(records[0].sessionID)
  expect(only(events, 'tool.call.completed').map(({ data }) => data.call_id)).toEqual(
    parts('tool_use').map(({ callID }) => callID),
  )
  expect(only(events, 'tool.call.failed')).toEqual([])
  expect(endOf(events).state).toBe(failed ? 'interrupted' : 'awaiting_user_input')
  expect(codesOf(events)).not.toContain('DRIFT_REPORT')
})

test.each(own)('the PTY of $name alone says the same as stdout', (fixture) => {
  const alone = fixture.logs.filter(({ channel }) => channel === 'pty')
  if (alone.length === 0) return
  const events = eventsOf({ ...fixture, logs: alone }, inPieces({ ...fixture, logs: alone }))
  expect(texts(events)).toEqual(texts(eventsOf(fixture, inPieces(fixture))))
  expect(endOf(events).state).toBe(endOf(eventsOf(fixture, inPieces(fixture))).state)
})

test.each(own)('auto tells the same events of $name, as opencode', (fixture) => {
  const said = (events: ReturnType<typeof eventsOf>) => events.map(({ type, data }) => ({ type, data }))
  const [pick, ...picked] = eventsOf(fixture, inPieces(fixture), auto)
  expect(pick!.data).toMatchObject({ message: 'auto picked opencode' })
  expect(said(picked)).toEqual(said(eventsOf(fixture, inPieces(fixture))))
})
