// Ships for many hosts at once, with a connection for each: DIR SERVERS FROM TO.
import { join } from 'node:path'
import { argv } from 'node:process'
import { ship } from '../src/nats/ship.ts'

const [dir = '', servers = '', from, to] = argv.slice(2)
const count = Number(to) - Number(from)
await Promise.all(
  Array.from({ length: count }, (_, n) => {
    const tenant = `host-${Number(from) + n}`
    return ship(join(dir, tenant), {
      servers: servers.split(','),
      tenant,
      replicas: 3,
      connectTimeout: 60_000,
    })
  }),
)
