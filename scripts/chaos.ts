// Kills servers, shippers, mirror and reader at random and compares every file: the figures of docs/hosts.md.
// npx tsx scripts/chaos.ts [--seconds 120] [--servers 3] [--kills 100]
import { argv, exit } from 'node:process'
import { parseArgs } from 'node:util'
import { chaos } from '../test/nats/chaos.ts'

const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    seconds: { type: 'string', default: '120' },
    servers: { type: 'string', default: '3' },
    kills: { type: 'string', default: '100' },
  },
})
const result = await chaos({
  seconds: Number(values.seconds),
  minKills: Number(values.kills),
  servers: values.servers === '1' ? 1 : 3,
  hosts: 3,
  runs: 4,
  pause: 800,
  say: console.error,
})
console.log(JSON.stringify(result, undefined, 2))
const { lost, twice, outOfOrder, differing, trouble } = result
exit(lost + twice + outOfOrder + differing.length + trouble.length > 0 ? 1 : 0)
