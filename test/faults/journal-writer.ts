// A process that keeps events and dies at a chosen call of the file system. Started by f-durability.test.ts:
//   node journal-writer.js <dir> <events> <call at which to die, or 0> <half: die inside a write>
import { once } from 'node:events'
import fs from 'node:fs'
import { journal } from '../../src/sinks/journal.ts'
import { makeEvent } from '../sinks/make-event.ts'

const [dir = '', count = '0', fatal = '0', half] = process.argv.slice(2)
let calls = 0

const die = () => process.kill(process.pid, 'SIGKILL')
const names = [
  'mkdirSync',
  'writeFileSync',
  'linkSync',
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
      if (half && name === 'writeSync')
        real(args[0], args[1], args[2], Math.floor(Number(args[3]) / 2), args[4])
      die()
    }
    return real(...args)
  }
}
armed = true
const book = journal(dir, { fsync: 'each' })
// One at a time, so that the call at which it dies falls between two that were acknowledged.
for (let seq = 1; seq <= Number(count); seq++) {
  const passed = once(book, 'data')
  book.write(makeEvent(seq, { diagnostic: (seq - 1) % 3 === 1 }))
  const [event] = await passed
  fs.writeSync(1, `${event.seq}\n`)
}
const closed = once(book, 'close')
book.end()
await closed
fs.writeSync(1, `calls ${calls}\n`)
