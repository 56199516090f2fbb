// Subscribes to everything and checks it: the events of each run once and in order. Ends after so many, or
// never.
import { argv, exit } from 'node:process'
import { subscribe } from '../../src/nats/subscribe.ts'

const [, , servers = '', wanted = 'Infinity'] = argv
const last = new Map<string, number>()
let count = 0
for await (const { run_id, seq } of subscribe({ servers: servers.split(','), connectTimeout: 60_000 })) {
  if (seq !== (last.get(run_id) ?? 0) + 1) {
    console.error(`${run_id}: event ${seq} after ${last.get(run_id)}`)
    exit(1)
  }
  last.set(run_id, seq)
  if (++count >= Number(wanted)) break
}
