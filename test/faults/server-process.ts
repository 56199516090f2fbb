import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import type { ServeOptions } from '../../src/serve/serve-options.ts'
import { built } from '../built.ts'
import { ask } from '../serve/serving.ts'

/** A server that is a process, and what it has open right now. */
export interface ServerProcess {
  readonly url: string
  readonly port: number
  clients(): Promise<number>
  /** Open descriptors. */
  descriptors(): number
  /** The most memory it ever had, in bytes. */
  peak(): number
  stop(): Promise<void>
}

/** Starts one. One client comes and goes first, so that what is opened once and kept is open. */
export async function serverProcess(
  dir: string,
  run: string,
  options: Omit<ServeOptions, 'dir'> = {},
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [built('test/faults/server.ts'), dir, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [said] = await once(child.stdout, 'data')
  const port = Number(String(said))
  const url = `http://127.0.0.1:${port}/`
  const clients = async (): Promise<number> => JSON.parse((await ask(`${url}healthz`)).text).clients
  const leave = new AbortController()
  const first = await fetch(`${url}runs/${run}/events`, { signal: leave.signal })
  await first.body?.getReader().read()
  leave.abort()
  while ((await clients()) > 0);
  return {
    url,
    port,
    clients,
    descriptors: () => readdirSync(`/proc/${child.pid}/fd`).length,
    peak: () =>
      1024 * Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]),
    async stop() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}
