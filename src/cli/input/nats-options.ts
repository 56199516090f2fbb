import { Option } from 'commander'
import { badOption } from '../../base/fault.ts'
import type { NatsOptions } from '../../nats/nats-connection.ts'
import type { Row } from '../command-table.ts'
import { safe } from '../draw/safe.ts'
import { statusLine } from '../draw/status-line.ts'
import { exits } from '../exit-codes.ts'
import { untilStopped } from './until-stopped.ts'

export interface NatsFlags
  extends Pick<NatsOptions, 'stream' | 'replicas' | 'user' | 'password' | 'creds' | 'inbox'> {
  readonly natsToken?: string
  readonly tls?: boolean
  readonly tlsCa?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
}

/** How to connect to NATS: the options that `ship`, `mirror` and `serve --from` share. */
export const natsRows: readonly (Row | Option)[] = [
  ['--stream <name>', 'the JetStream stream; created if it is missing (default: sluice)'],
  new Option('--replicas <n>', 'servers that store a stream created here (default: 1)')
    .choices(['1', '3', '5'])
    .argParser(Number),
  new Option('--user <name>', 'the user').env('NATS_USER'),
  new Option('--password <word>', 'its password; other users can see it in a list of processes').env(
    'NATS_PASSWORD',
  ),
  new Option('--nats-token <token>', 'a token instead of a user').env('NATS_TOKEN'),
  new Option('--creds <file>', 'a creds file instead of a user').env('NATS_CREDS'),
  ['--inbox <name>', 'where answers arrive, if this user has a place of its own (default: _INBOX)'],
  ['--tls', 'refuse a server without TLS; so does an address with tls://'],
  ['--tls-ca <file>', 'the authority that signed its certificate, in PEM'],
  ['--tls-cert <file>', 'the certificate of this client, in PEM'],
  ['--tls-key <file>', 'its key, in PEM'],
]

/** A command that runs until it is stopped is often started together with its broker. */
const FOLLOW_CONNECT_MS = 10_000

/**
 * The options for the calls of `agent-sluice/nats`. The addresses can be several, with commas between them. A
 * command that goes on until it is stopped `follows`: it waits some seconds for a missing broker.
 */
export function natsOptions(addresses: string, flags: NatsFlags, follows: boolean): NatsOptions {
  const { natsToken: token, tls, tlsCa: ca, tlsCert: cert, tlsKey: key, ...rest } = flags
  if (rest.replicas !== undefined && ![1, 3, 5].includes(rest.replicas))
    throw badOption('--replicas takes 1, 3 or 5')
  const servers = addresses.split(',')
  if (servers.some((each) => each.trim() === ''))
    throw badOption('an address of NATS is empty; give one such as nats://127.0.0.1:4222')
  const files = ca ?? cert ?? key
  return {
    ...rest,
    servers,
    token,
    tls: files === undefined ? tls : { ca, cert, key },
    connectTimeout: follows ? FOLLOW_CONNECT_MS : undefined,
    onConnection: (connected) =>
      console.error(
        connected ? 'sluice: the broker is back' : 'sluice: the broker is unreachable; waiting for it',
      ),
  }
}

/** What `ship` and `mirror` share: progress on stderr, a signal that stops them, the refused runs. */
interface Task {
  readonly signal: AbortSignal
  /** Progress, over which the next one is written. */
  show(words: () => string): void
  /** A line that stays. */
  tell(words: string): void
  readonly onRefused: (path: string, fault: Error) => void
}

/**
 * Moves runs from or to a broker, until that is done or stopped, and returns the exit code. `move` returns
 * what to report at the end; `moved` is what a refused run is not.
 */
export async function moveRuns(moved: string, move: (task: Task) => Promise<string>): Promise<number> {
  const status = statusLine()
  const stopped = untilStopped()
  let refused = 0
  const tell = (words: string) => {
    status.end()
    console.error(`sluice: ${words}`)
  }
  const onRefused = (path: string, fault: Error) => {
    refused++
    tell(notMoved(path, moved, fault))
  }
  try {
    tell(await move({ signal: stopped.signal, show: status.show, tell, onRefused }))
    return exits.good
  } catch (error) {
    status.end()
    // Each was reported when it happened.
    if (refused > 0) return exits.failed
    if (stopped.signal.aborted) return exits.incomplete
    throw error
  } finally {
    stopped.end()
  }
}

export function notMoved(path: string, moved: string, fault: Error): string {
  return `${safe(path)} is not ${moved}: ${fault.message}`
}
