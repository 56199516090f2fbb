import { type Command, Option } from 'commander'
import { Fault } from '../../base/fault.ts'
import type { NatsOptions } from '../../nats/nats-options.ts'
import { exits } from '../exit-code-table.ts'

/** The values of the options below. */
export interface NatsFlags {
  readonly stream?: string
  readonly replicas?: number
  readonly user?: string
  readonly password?: string
  readonly natsToken?: string
  readonly creds?: string
  readonly tls?: boolean
  readonly tlsCa?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
}

/** How to connect to NATS: the options that `ship`, `mirror` and `serve --from` share. */
export function addNatsOptions(command: Command): Command {
  return command
    .option('--stream <name>', 'the JetStream stream; created if it is missing (default: sluice)')
    .addOption(
      new Option('--replicas <n>', 'servers that store a stream created here (default: 1)')
        .choices(['1', '3', '5'])
        .argParser(Number),
    )
    .addOption(new Option('--user <name>', 'the user').env('NATS_USER'))
    .addOption(
      new Option('--password <word>', 'its password; other users can see it in a list of processes').env(
        'NATS_PASSWORD',
      ),
    )
    .addOption(new Option('--nats-token <token>', 'a token instead of a user').env('NATS_TOKEN'))
    .addOption(new Option('--creds <file>', 'a creds file instead of a user').env('NATS_CREDS'))
    .option('--tls', 'refuse a server without TLS; so does an address with tls://')
    .option('--tls-ca <file>', 'the authority that signed its certificate, in PEM')
    .option('--tls-cert <file>', 'the certificate of this client, in PEM')
    .option('--tls-key <file>', 'its key, in PEM')
}

/** What goes on until it is stopped is often started together with its broker. */
const FOLLOW_CONNECT_MS = 10_000

/**
 * The options for the calls of `agent-sluice/nats`. The addresses can be several, with commas between them. A
 * command that goes on until it is stopped `follows`: it waits some seconds for a broker that is not there
 * yet.
 */
export function natsOptions(addresses: string, flags: NatsFlags, follows: boolean): NatsOptions {
  const {
    stream,
    replicas,
    user,
    password,
    natsToken: token,
    creds,
    tls,
    tlsCa: ca,
    tlsCert: cert,
    tlsKey: key,
  } = flags
  if (replicas !== undefined && ![1, 3, 5].includes(replicas))
    throw new Fault('BAD_OPTION', '--replicas takes 1, 3 or 5')
  const files = ca ?? cert ?? key
  return {
    servers: addresses.split(','),
    stream,
    replicas,
    user,
    password,
    token,
    creds,
    tls: files === undefined ? tls : { ca, cert, key },
    connectTimeout: follows ? FOLLOW_CONNECT_MS : undefined,
    onConnection: (connected) =>
      console.error(
        connected ? 'sluice: the broker is back' : 'sluice: the broker is unreachable; waiting for it',
      ),
  }
}

/** A signal that the first SIGINT or SIGTERM aborts; the second one ends the process as usual. */
export interface Stopped {
  readonly signal: AbortSignal
  /** The exit code for a command that was stopped before it was done. */
  exit(): number
  /** Removes its listeners. */
  end(): void
}

export function untilStopped(): Stopped {
  const stop = new AbortController()
  let at = 0
  const onSignal = (name: NodeJS.Signals) => {
    if (!stop.signal.aborted) {
      at = performance.now()
      stop.abort()
    } else if (performance.now() - at > REPEAT_MS) {
      end()
      process.kill(process.pid, name)
    }
  }
  const end = () => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  return { signal: stop.signal, exit: () => exits.incomplete, end }
}

/** A status line re-sends Ctrl-C once after it has removed itself; a person takes longer. */
const REPEAT_MS = 200
