import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** False where there is no nats-server: the tests that need one are skipped by name. */
export const hasNats: boolean = spawnSync('nats-server', ['--version']).status === 0

/** Goes into the name of a test that needs a server, so that a skipped one says why. */
export const needsNats = hasNats ? '' : ' (skipped: no nats-server; apt-get install nats-server)'

/** A real server that can be killed and started again on the same storage. */
export interface NatsServer {
  readonly url: string
  readonly store: string
  start(): Promise<void>
  /** kill -9. */
  kill(): Promise<void>
  signal(name: NodeJS.Signals): void
  readonly pid: number | undefined
  /** Ends it and removes its storage. */
  close(): Promise<void>
}

/** Starts one server. `config` is added to its configuration. */
export async function natsServer(config = ''): Promise<NatsServer> {
  const server = await prepared(config, await freePort())
  await server.start()
  return server
}

/** Starts a cluster of three on this machine. */
export async function natsCluster(config = ''): Promise<NatsServer[]> {
  const ports = await Promise.all([1, 2, 3, 4, 5, 6].map(freePort))
  const routes = ports.slice(3).map((port) => `nats://127.0.0.1:${port}`)
  const servers = await Promise.all(
    [0, 1, 2].map((n) =>
      prepared(
        `${config}
        server_name: n${n}
        cluster { name: c, listen: "127.0.0.1:${ports[3 + n]}", routes: ${JSON.stringify(routes)} }`,
        ports[n]!,
      ),
    ),
  )
  await Promise.all(servers.map((server) => server.start()))
  return servers
}

async function prepared(config: string, port: number): Promise<NatsServer> {
  const store = mkdtempSync(join(tmpdir(), 'sluice-nats-'))
  const file = join(store, 'nats.conf')
  mkdirSync(join(store, 'js'))
  writeFileSync(
    file,
    `listen: "127.0.0.1:${port}"
    jetstream { store_dir: ${JSON.stringify(join(store, 'js'))} }
    ${config}`,
  )
  let child: ChildProcess | undefined
  const server: NatsServer = {
    url: `nats://127.0.0.1:${port}`,
    store,
    get pid() {
      return child?.pid
    },
    async start() {
      child = spawn('nats-server', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] })
      let log = ''
      child.stderr!.setEncoding('utf8')
      await new Promise<void>((resolve, reject) => {
        child!.stderr!.on('data', (text: string) => {
          log = (log + text).slice(-4000)
          if (log.includes('Server is ready')) resolve()
        })
        child!.once('exit', () => reject(new Error(`nats-server did not start: ${log}`)))
      })
    },
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
    signal(name) {
      child?.kill(name)
    },
    async close() {
      await server.kill()
      rmSync(store, { recursive: true, force: true, maxRetries: 3 })
    },
  }
  return server
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Waits until something is so; for what tells no event. */
export async function until(what: () => boolean | Promise<boolean>, ms = 30_000): Promise<void> {
  const end = Date.now() + ms
  while (!(await what())) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`)
    await delay(20)
  }
}
