// Many clients on one live run: every one must get every event once, and the server's memory must stay flat.
//   npx tsx bench/clients.ts [clients=500] [events=2000] [seconds=10]
// Every tenth client hangs up once and comes back with its last id; every fiftieth never reads at all.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { openJournal } from '../src/disk/journal.ts'
import type { AgentEvent } from '../src/events/event.ts'
import { makeEvent } from '../test/disk/make-event.ts'

const [clients = 500, events = 2000, seconds = 10] = process.argv.slice(2).map(Number)
const dir = mkdtempSync(join(tmpdir(), 'sluice-clients-'))
const main = new URL('../src/cli/main.ts', import.meta.url).pathname

const server = spawn(process.execPath, ['--import', 'tsx', main, 'serve', dir, '--port', '0'], {
  stdio: ['ignore', 'ignore', 'pipe'],
})
const [said] = await once(server.stderr, 'data')
const port = Number(/:(\d+)\//.exec(String(said))?.[1])

const rss = () =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024
const cpu = () => {
  const fields = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const book = openJournal(join(dir, 'run'))
const send = (seq: number) =>
  book.append({
    ...makeEvent(seq, { run: 'r', text: 'x'.repeat(300) }),
    ts: new Date().toISOString(),
  } as AgentEvent)
send(1)
const before = rss()

const lags: number[] = []
let gaps = 0
let twice = 0
let reconnects = 0
function client(number: number): Promise<void> {
  let last = 0
  const hangUp = number % 10 === 3 ? Math.floor(events * (0.2 + (number % 7) / 10)) : 0
  const listen = (after: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const headers = after ? { 'last-event-id': `r:${after}` } : {}
      const request = get(
        { port, host: '127.0.0.1', path: '/runs/run/events', headers, agent: false },
        (response: IncomingMessage) => {
          const parser = createParser({
            onEvent({ id, data }) {
              const seq = Number(id?.slice(2))
              if (seq <= last) twice++
              else if (seq > last + 1) gaps++
              last = Math.max(last, seq)
              if (number % 25 === 0) lags.push(Date.now() - Date.parse(JSON.parse(data).ts))
            },
          })
          response.setEncoding('utf8').on('data', (text) => {
            parser.feed(text)
            if (hangUp && !after && last >= hangUp) {
              reconnects++
              response.destroy()
            }
          })
          response.on('close', () => (hangUp && !after && last < events ? resolve(listen(last)) : resolve()))
        },
      )
      request.on('error', reject)
    })
  return listen(0).then(() => {
    if (last !== events) gaps++
  })
}

const deaf = Array.from({ length: Math.floor(clients / 50) }, () => {
  const socket = connect(port, '127.0.0.1')
  socket.pause().on('error', () => {})
  socket.write('GET /runs/run/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
  return socket
})
const all = Promise.all(Array.from({ length: clients }, (_, i) => client(i)))
await delay(1000)
const connected = rss()
let peak = connected
const watch = setInterval(() => {
  peak = Math.max(peak, rss())
}, 50)
const used = cpu()
const began = performance.now()
for (let seq = 2; seq <= events; seq++) {
  send(seq)
  const due = (seq / events) * seconds * 1000
  const ahead = due - (performance.now() - began)
  if (ahead > 1) await delay(ahead)
}
book.sync()
book.close()
await all
const took = (performance.now() - began) / 1000
clearInterval(watch)
lags.sort((a, b) => a - b)
const at = (share: number) => lags[Math.floor(lags.length * share)]
console.log(
  `${clients} clients, ${events} events each in ${took.toFixed(1)} s: ${Math.round((clients * events) / took).toLocaleString()} deliveries/s`,
)
console.log(
  `gaps ${gaps}, duplicates ${twice}, reconnects with an id ${reconnects}, clients that never read ${deaf.length}`,
)
console.log(
  `from journal to client: median ${at(0.5)} ms, 99th percentile ${at(0.99)} ms, worst ${lags.at(-1)} ms`,
)
console.log(
  `server memory: ${before.toFixed(0)} MB alone, ${connected.toFixed(0)} MB with all connected, ${peak.toFixed(0)} MB at most; ${(cpu() - used).toFixed(1)} s of CPU`,
)
for (const socket of deaf) socket.destroy()
server.kill()
await once(server, 'exit')
rmSync(dir, { recursive: true })
process.exitCode = gaps || twice ? 1 : 0
