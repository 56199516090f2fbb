import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** An edge worker that serves requests on this machine. */
export interface EdgeWorker {
  readonly url: string
  close(): Promise<void>
}

/**
 * Starts a worker in workerd, without its compatibility with Node. `modules` are files in `folder`, the
 * worker itself first.
 */
export async function startWorker(
  binary: string,
  folder: string,
  modules: readonly string[],
): Promise<EdgeWorker> {
  const embedded = modules.map((name) => `(name = "${name}", esModule = embed "${name}")`)
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const main :Workerd.Worker = (modules = [${embedded.join(', ')}], compatibilityDate = "2026-11-01");
`
  writeFileSync(join(folder, 'config.capnp'), config)
  const child = spawn(binary, ['serve', '--control-fd=3', 'config.capnp'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const exit = once(child, 'exit')
  // The first line of its control pipe names the port; without one the worker cannot be used.
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdio[3] as Readable }), 'line'),
    exit.then(() => ['null']),
  ])
  const told = JSON.parse(line)
  if (!told?.port) throw new Error(`workerd did not start the worker: ${line}`)
  return {
    url: `http://127.0.0.1:${told.port}/`,
    async close() {
      child.kill()
      await exit
    },
  }
}
