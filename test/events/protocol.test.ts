import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import type { Chat } from '../../src/views/chat.ts'
import { validChat, validEvents } from '../engines/valid.ts'

const page = readFileSync('docs/protocol.md', 'utf8')
const [rasp, fcmp] = page.split('\n## FCMP\n')
const typesOf = (name: string): string[] => {
  const schema = JSON.parse(readFileSync(`schemas/${name}.schema.json`, 'utf8'))
  return (schema.$defs.type ?? schema.properties.type).enum
}
/** Each heading that is a type, with the example below it. */
const examples = <T>(part: string): [string, T][] =>
  [...part.matchAll(/^### (\S+)\n[\s\S]*?```json\n(.*)\n```/gm)].map(([, type, json]) => [
    type!,
    JSON.parse(json!),
  ])

test('docs/protocol.md has one valid RASP example for every type', () => {
  const found = examples<AgentEvent>(rasp!)
  expect(found.map(([type]) => type)).toEqual(typesOf('rasp'))
  for (const [type, event] of found) {
    expect(event.type).toBe(type)
    expect(event.event.type).toBe(type)
    validEvents([{ ...event, seq: 1 }])
  }
})

test('docs/protocol.md has one valid FCMP example for every type', () => {
  const found = examples<Chat>(fcmp!)
  expect(found.map(([type]) => type).sort()).toEqual(typesOf('fcmp').sort())
  for (const [type, record] of found) {
    expect(record.type).toBe(type)
    validChat([{ ...record, seq: 1 }])
  }
})

test('the schemas refuse what is not a record', () => {
  const [, good] = examples<AgentEvent>(rasp!)[0]!
  const bad = [
    { ...good, seq: 0 },
    { ...good, more: 1 },
    { ...good, ts: 'yesterday' },
    { ...good, data: { status: 1 } },
    { ...good, data: { status: 'x', colour: 'red' } },
    { ...good, event: { category: 'agent', type: good.event.type } },
    { ...good, type: undefined },
    { ...good, type: 'raw.stdout' },
    { ...good, event: { category: 'raw', type: 'raw.stdin' } },
  ]
  for (const event of bad) expect(() => validEvents([event as unknown as AgentEvent])).toThrow()
})
