import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/event.ts'
import type { Chat } from '../../src/views/chat.ts'
import { validChat, validEvents } from '../engines/valid.ts'

const page = readFileSync('docs/protocol.md', 'utf8')
const [rasp, fcmp] = page.split('\n## FCMP\n') as [string, string]
const typesOf = (name: string): string[] => {
  const schema = JSON.parse(readFileSync(`schemas/${name}.schema.json`, 'utf8'))
  return (schema.$defs.type ?? schema.properties.type).enum
}
/** The record that a part of the page shows whole, before its first heading. */
const wholeOf = <T>(part: string): T => JSON.parse(/```json\n([\s\S]*?)\n```/.exec(part)![1]!)
/** Each heading that is a type, with the data below it. */
const examples = (part: string): [type: string, data: object][] =>
  [...part.matchAll(/^### ([a-z_]+\.\S+)\n(?:(?!^### )[\s\S])*?```json\n([\s\S]*?)\n```/gm)].map(
    ([, type, json]) => [type!, JSON.parse(json!)],
  )

const event = wholeOf<AgentEvent>(rasp)
const record = wholeOf<Chat>(fcmp)
const eventWith = (type: string, data: object) =>
  ({ ...event, type, event: { category: type.split('.')[0], type }, data }) as AgentEvent
const recordWith = (type: string, data: object) => ({ ...record, type, data }) as Chat

test('docs/protocol.md has one valid RASP example for every type', () => {
  const found = examples(rasp)
  expect(found.map(([type]) => type)).toEqual(typesOf('rasp'))
  for (const [type, data] of found) validEvents([eventWith(type, data)])
  validEvents([event])
  expect(found[0]).toEqual([event.type, event.data])
})

test('docs/protocol.md has one valid FCMP example for every type, or the event with its data', () => {
  const found = examples(fcmp)
  const dataOf = new Map(examples(rasp))
  const names = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)
  const same = [...fcmp.matchAll(/^\| (`.*`) \| (`.*`) \|$/gm)].flatMap(([, records, events]) =>
    names(records!).map((type, i): [string, object] => [type, dataOf.get(names(events!)[i]!)!]),
  )
  const all = [...found, ...same]
  expect(all.map(([type]) => type).sort()).toEqual(typesOf('fcmp').sort())
  for (const [type, data] of all) validChat([recordWith(type, data)])
  validChat([record])
})

test('docs/protocol.md has no line that is longer than a screen is wide', () => {
  expect(page.split('\n').filter((line) => line.length > 200)).toEqual([])
})

test('the schemas refuse what is not a record', () => {
  const bad = [
    { ...event, seq: 0 },
    { ...event, more: 1 },
    { ...event, ts: 'yesterday' },
    { ...event, data: { status: 1 } },
    { ...event, data: { status: 'x', colour: 'red' } },
    { ...event, event: { category: 'agent', type: event.type } },
    { ...event, type: undefined },
    { ...event, type: 'raw.stdout' },
    { ...event, event: { category: 'raw', type: 'raw.stdin' } },
  ]
  for (const each of bad) expect(() => validEvents([each as unknown as AgentEvent])).toThrow()
})
