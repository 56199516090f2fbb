// An agent that says what was recorded: `["<", record]` is printed, for `[">", record]` it waits until its client
// sends a record of the same kind. What the client sends is noted.
//
//     node stand-in.mjs RECORDING NOTES [--skip KIND] [--next RECORDING] [--linger]
import { appendFileSync, existsSync, readFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [recording, notes, ...flags] = process.argv.slice(2)
const wordAfter = (flag) => (flags.includes(flag) ? flags[flags.indexOf(flag) + 1] : undefined)
const skipped = wordAfter('--skip')
const note = (text) => appendFileSync(notes, `${text}\n`)
/** The second process says what the second process said when it was recorded. */
const again = existsSync(notes)
note(again ? '{"again":true}' : '{}')
const file = again ? (wordAfter('--next') ?? recording.replace('.jsonl', '.2.jsonl')) : recording
const [, ...steps] = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))

const idOf = (record) => record.id ?? record.request_id
const answerId = (record) =>
  record.method === undefined ? (record.id ?? record.response?.request_id) : undefined
const kindOf = (record) => {
  if (record.method) return record.method
  if (record.type === 'control_request') return record.request.subtype
  return record.type ?? 'answer'
}

/** The client's ids, by those in the recording. */
const ids = new Map()
const dropped = new Set()
const say = (record) => {
  const id = answerId(record)
  if (dropped.has(id)) return
  const mine = ids.get(id)
  const said = structuredClone(record)
  if (mine !== undefined && said.response) said.response.request_id = mine
  else if (mine !== undefined) said.id = mine
  writeSync(1, `${JSON.stringify(said)}\n`)
}

let at = 0
const open = new Set()
const goOn = () => {
  for (; at < steps.length; at++) {
    const [way, record] = steps[at]
    const id = JSON.stringify(answerId(record) ?? record.params?.requestId)
    const isAnswer = way === '>' && answerId(record) !== undefined
    if (way === '<') {
      if (record.method && record.id !== undefined) open.add(JSON.stringify(record.id))
      if (record.type === 'control_request') open.add(JSON.stringify(record.request_id))
      if (record.method === 'serverRequest/resolved') open.delete(id)
      say(record)
    } else if (kindOf(record) === skipped) dropped.add(idOf(record))
    // Our client sends no answer to what was not asked, or is over.
    else if (!isAnswer || open.delete(id)) return
  }
}

const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  note(line)
  const got = JSON.parse(line)
  const [, expected] = steps[at] ?? []
  if (!expected || kindOf(expected) !== kindOf(got)) return
  if (idOf(expected) !== undefined) ids.set(idOf(expected), idOf(got))
  at++
  goOn()
})
lines.on('close', () => {
  if (flags.includes('--linger')) setInterval(() => {}, 1000)
  else process.exit(0)
})
goOn()
