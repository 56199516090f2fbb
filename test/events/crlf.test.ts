import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { auto, events } from '../../src/events.ts'

// Agents on Windows end their lines with CR LF: the same events, at other places.

const logs = readdirSync('fixtures').flatMap((engine) => {
  const paths = readdirSync(join('fixtures', engine)).map((name) =>
    join('fixtures', engine, name, 'stdout.log'),
  )
  const path = paths.find((path) => existsSync(path) && readFileSync(path, 'utf8').startsWith('{'))
  return path === undefined ? [] : [path]
})

async function eventsIn(text: string): Promise<string[]> {
  const found = await Readable.from([Buffer.from(text)])
    .pipe(events(auto))
    .toArray()
  const places = ['ts', 'raw_ref', 'failure_ref', 'event_id']
  return found.map((event) => JSON.stringify(event, (key, value) => (places.includes(key) ? 0 : value)))
}

test.each(logs)('%s reads the same with CR LF', async (path) => {
  const text = readFileSync(path, 'utf8').replaceAll('\r\n', '\n')
  const expected = await eventsIn(text)
  expect(expected.length).toBeGreaterThan(1)
  expect(await eventsIn(text.replaceAll('\n', '\r\n'))).toEqual(expected)
})
