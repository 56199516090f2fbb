// A process that keeps events and dies at a chosen call of the file system. Started by killed-writer.ts:
//   node journal-writer.js <dir> <file of events> <call to die at, or 0> <part of a write still done> <fsync>
import { once } from 'node:events'
import fs from 'node:fs'
import { type JournalOptions, journal } from '../../src/disk/journal.ts'
import type { AgentEvent } from '../../src/events/event.ts'

const [dir = '', file = '', fatal = '0', part = '0', fsync] = process.argv.slice(2)
const events = fs.readFileSync(file, 'utf8').split('\n').slice(0, -1)
let calls = 0

const die = () => process.kill(process.pid, 'SIGKILL')
const names = [
  'mkdirSync',
  'writeFileSync',
  'linkSync',
  'renameSync',
  'openSync',
  'fstatSync',
  'readSync',
  'writeSync',
  'ftruncateSync',
  'fdatasyncSync',
  'closeSync',
  'readFileSync',
  'rmSync',
] as const
// Everything the journal asks of the disk goes through these; each call is one boundary.
const table = fs as unknown as Record<string, (...args: unknown[]) => unknown>
let armed = false
for (const name of names) {
  const real = table[name]!
  table[name] = (...args) => {
    // Module loading reads files too, and our own output is not the journal's.
    if (!armed || (name === 'writeSync' && args[0] === 1)) return real(...args)
    if (++calls === Number(fatal)) {
      const length = Math.floor(Number(args[3]) * Number(part))
      if (name === 'writeSync' && length > 0) real(args[0], args[1], args[2], length, args[4])
      die()
    }
    return real(...args)
  }
}
armed = true
// The cast is the door of the command line.
const book = journal(dir, { fsync: fsync as JournalOptions['fsync'] })
// One at a time, so that the call at which it dies falls between two that were acknowledged.
for (const line of events) {
  const passed = once(book, 'data')
  book.write(JSON.parse(line) as AgentEvent)
  const [event] = await passed
  fs.writeSync(1, `${event.correlation.event_id}\n`)
}
const closed = once(book, 'close')
book.end()
await closed
fs.writeSync(1, `calls ${calls}\n`)
