// Writes the expected events.jsonl and chat.jsonl of every fixture again. Read the diff before you commit it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { asLines, chatOf, eventsOf, fixtures, inPieces } from '../test/engines/fixture.ts'

let changed = 0
const all = fixtures()
for (const fixture of all) {
  const events = eventsOf(fixture, inPieces(fixture))
  for (const [name, records] of [
    ['events.jsonl', events],
    ['chat.jsonl', chatOf(events)],
  ] as const) {
    const path = join(fixture.path, name)
    const text = asLines(records)
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
    writeFileSync(path, text)
    changed++
    console.log(path)
  }
}
console.log(`${all.length} fixtures, ${changed} files changed`)
