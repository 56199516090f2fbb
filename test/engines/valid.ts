import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { AgentEvent } from '../../src/events/event.ts'
import type { Chat } from '../../src/views/chat.ts'

const ajv = new Ajv2020({ allErrors: true, strictTypes: false })
const load = (name: string) => {
  const check = ajv.compile(JSON.parse(readFileSync(`schemas/${name}.schema.json`, 'utf8')))
  return (record: object): string => (check(record) ? '' : ajv.errorsText(check.errors))
}
const rasp = load('rasp')
const fcmp = load('fcmp')

/** Throws unless every event passes its schema, `seq` has no gap and no id comes twice. */
export function validEvents(events: readonly AgentEvent[]): readonly AgentEvent[] {
  const ids = new Set<string>()
  events.forEach((event, index) => {
    const wrong = rasp(event)
    if (wrong) throw new Error(`${event.type}: ${wrong}`)
    if (event.seq !== index + 1) throw new Error(`seq ${event.seq} at position ${index + 1}`)
    ids.add(event.correlation.event_id)
  })
  if (ids.size !== events.length) throw new Error(`${events.length - ids.size} event ids come twice`)
  return events
}

/** Throws unless every chat record passes its schema and `seq` has no gap. */
export function validChat(records: readonly Chat[]): readonly Chat[] {
  records.forEach((record, index) => {
    const wrong = fcmp(record)
    if (wrong) throw new Error(`${record.type}: ${wrong}`)
    if (record.seq !== index + 1) throw new Error(`seq ${record.seq} at position ${index + 1}`)
  })
  return records
}
