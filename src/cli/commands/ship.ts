import { hidingOf } from '../../serve/redact-served.ts'
import type { CommandTable } from '../command-table.ts'
import { moveRuns, type NatsFlags, natsOptions, natsRows } from '../input/nats-options.ts'

interface Flags extends NatsFlags {
  readonly to: string
  readonly tenant?: string
  readonly follow?: boolean
  readonly redact?: boolean
  readonly control?: boolean
}

const help = `
Sends every run under DIR that has an events.jsonl. Waits for runs that are
being written, and ends when all have ended and the broker has them. Can be
killed and started again at any time: the broker says where to continue.

Needs the packages @nats-io/transport-node and @nats-io/jetstream, and a
nats-server with JetStream (2.9.10 or newer).

Exit codes: 0 all was sent, 1 a run was refused (the others were sent), 2 bad
usage, or the broker cannot be used, 4 it was stopped before all was sent.

Examples:
  $ npx agent-sluice ship .audit --to nats://hub:4222
  $ npx agent-sluice ship .audit --to tls://hub:4222 --tenant host-a --follow`

/** `sluice ship`: sends the runs under a directory to NATS. */
export default {
  about: 'Sends the runs under a directory to NATS JetStream, each event once and in order.',
  args: [['[dir]', 'the directory with the runs', undefined, '.']],
  options: [
    ['--to <addresses>', 'nats://host:4222, or several with commas'],
    ['--tenant <name>', 'the owner of these runs (default: default)'],
    ['--follow', 'keep watching for new runs'],
    ['--control', 'pass on orders to runs that were started with --control: see docs/control.md'],
    ['--redact', 'hide keys, tokens and passwords before anything is sent'],
    ...natsRows,
  ],
  required: '--to',
  help,
  act: shipRuns,
} satisfies CommandTable

async function shipRuns(
  dir: string,
  { to, tenant, follow, redact, control, ...flags }: Flags,
): Promise<number> {
  const { ship } = await import('../../nats/ship.ts')
  return moveRuns('shipped', async ({ signal, show, tell, onRefused }) => {
    const { runs, events } = await ship(dir, {
      ...natsOptions(to, flags, follow ?? false),
      tenant,
      follow,
      control,
      // Each event by itself: after a restart, another process continues without the earlier events.
      redact: hidingOf(redact ?? false)?.event,
      signal,
      onProgress: ({ runs, over, events, bytes }) =>
        show(() => `${over} of ${runs} runs, ${events} events, ${Math.round(bytes / 1e6)} MB sent`),
      onRefused,
      onStall: (fault) => tell(fault.message),
    })
    return `sent ${events} events of ${runs} runs`
  })
}
