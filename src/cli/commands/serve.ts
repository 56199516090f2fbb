import { once } from 'node:events'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { badOption } from '../../base/fault.ts'
import { serveWith } from '../../serve/serve.ts'
import type { GivenOrder, ServeOptions } from '../../serve/serve-options.ts'
import type { CommandTable } from '../command-table.ts'
import { safe } from '../draw/safe.ts'
import { exits } from '../exit-codes.ts'
import { type NatsFlags, natsRows } from '../input/nats-options.ts'
import { warnAboutOpenCode } from './sessions.ts'

interface Flags extends NatsFlags, Pick<ServeOptions, 'port' | 'host' | 'token' | 'insecure' | 'redact'> {
  readonly from?: string
  readonly dir?: string
  readonly tenant?: string
  readonly sessions?: boolean
  readonly home?: string
  readonly control?: boolean
  readonly controlReply?: boolean
  readonly origin?: readonly string[]
}

const help = `
Shows every run under DIR, the live ones first: the conversation as it arrives
and, next to it, the raw bytes each part came from. It writes no files and sends
nothing to other machines. --host opens it to others, who then need a token:
set SLUICE_TOKEN, because ps shows the value of --token.

--sessions adds the 200 newest session files that agents keep in the home
directory (see sluice sessions), also while they grow. They are only read, and
no other file of the home directory is.

--from shows the runs that were sent to NATS (see sluice ship), from any number
of hosts. They are mirrored into --dir, or else into a temporary directory.

--control lets who can read the page also answer, interrupt and stop the runs
that were started with --control. Without a token that is every local user; an
address that others can reach needs a token then, also with --insecure.
With --from, orders go to the hosts that run ship --control.
--control-reply also lets them continue runs that have ended: that starts agents
again, as your user. Read docs/control.md first.

Examples:
  $ npx agent-sluice serve .
  $ npx agent-sluice serve runs --port 8080
  $ npx agent-sluice serve --sessions
  $ export SLUICE_TOKEN=$(openssl rand -hex 16); echo $SLUICE_TOKEN
  $ npx agent-sluice serve --host 0.0.0.0
  $ npx agent-sluice serve --from nats://hub:4222 --dir mirror`

/** `sluice serve`: the runs under a directory as a web page. */
export default {
  about: 'Serves a web page with the runs under a directory, recorded or live.',
  args: [['[dir]', 'the directory with the runs (default: .)']],
  options: [
    ['--port <n>', 'the port; 0 for any free one', portNumber, 4180],
    ['--host <address>', 'the address to listen on', undefined, '127.0.0.1'],
    ['--sessions', 'also show the session files of agents'],
    ['--home <dir>', 'with --sessions: the home directory to look in (default: yours)'],
    new Option('--token <text>', 'the token that clients need to read the runs').env('SLUICE_TOKEN'),
    ['--insecure', 'with --host: let anyone who can reach it read, without a token'],
    ['--redact', 'hide keys, tokens and passwords in everything that is served, and send no raw bytes'],
    ['--control', 'let who reads answer, interrupt and stop runs that were started with --control'],
    ['--control-reply', 'the same, and start agents again to continue runs, as the user of this server'],
    ['--origin <origin...>', 'with --control: the origin that a proxy gives this server'],
    ['--from <addresses>', 'show the runs that were sent to NATS: nats://host:4222'],
    ['--dir <dir>', 'with --from: where they are mirrored (default: a temporary directory)'],
    ['--tenant <name>', 'with --from: only the runs of this tenant (default: all)'],
    ...natsRows,
  ],
  help,
  act: serveRuns,
} satisfies CommandTable

async function serveRuns(named: string | undefined, flags: Flags, command: Command): Promise<number> {
  const { from, dir: mirrored, tenant, sessions, home, ...others } = flags
  const { port, host, token, insecure, redact, control, controlReply, origin, ...nats } = others
  if (origin && !control && !controlReply) throw badOption('--origin is for --control')
  if (home !== undefined && !sessions) throw badOption('--home is for --sessions; add that, or leave it out')
  if (from === undefined) refuseOfFrom({ dir: mirrored, tenant, ...nats }, command)
  if (from !== undefined && named !== undefined)
    throw badOption('--from takes no directory; --dir names the one for its mirror')
  if (from !== undefined && controlReply)
    throw badOption('--control-reply starts agents on this machine: it is for runs of this machine')
  const mirror = from === undefined ? undefined : await import('./mirror.ts')
  const source = await mirror?.mirrorInBackground(from!, mirrored, tenant, nats)
  const dir = source?.dir ?? named ?? '.'
  try {
    const orders = (control || controlReply) && {
      reply: controlReply,
      origins: origin,
      onOrder: tellOrder,
    }
    const access = { port, host, token, insecure, redact, control: orders }
    const options = { ...access, dir, sessions: sessions && { home } }
    const { url, close } = await serveWith(options, source?.door)
    const what = [source ? 'the runs from NATS' : dir, ...(sessions ? ['the sessions of agents'] : [])]
    console.error(`sluice: serving ${what.join(' and ')} at ${url} (Ctrl-C ends it)`)
    if (sessions) warnAboutOpenCode(home)
    await Promise.race([
      once(process, 'SIGINT'),
      once(process, 'SIGTERM'),
      ...(source ? [source.failed] : []),
    ])
    await close()
  } finally {
    await source?.close()
  }
  return exits.good
}

/** The log of who told which run to do what. */
function tellOrder({ address, token, run, do: does, request, option }: GivenOrder): void {
  const who = `${address || 'somebody'}${token === undefined ? '' : ` (by ${token})`}`
  const what = [does, request, option].filter((word) => word !== undefined).join(' ')
  console.error(safe(`sluice: ${new Date().toISOString()} ${who}: ${what}, run ${run}`))
}

/** Options of --from without it. The environment may have some for other commands. */
function refuseOfFrom(flags: object, command: Command): void {
  const name = Object.keys(flags).find((each) => command.getOptionValueSource(each) === 'cli')
  const flag = command.options.find((option) => option.attributeName() === name)?.long
  const instead = name === 'dir' ? 'name the directory without it' : 'add that, or leave it out'
  if (flag) throw badOption(`${flag} is for --from; ${instead}`)
}

function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text)
  throw new InvalidArgumentError('Give a number between 0 and 65535.')
}
