import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import type { OrderDoor } from '../../serve/control.ts'
import type { CommandTable } from '../command-table.ts'
import { moveRuns, type NatsFlags, natsOptions, natsRows, notMoved } from '../input/nats-options.ts'
import { duration } from '../input/option-values.ts'

interface Flags extends NatsFlags {
  readonly from: string
  readonly tenant?: string
  readonly untilIdle?: number
}

const help = `
Writes DIR/<tenant>/<run>/events.jsonl for every run that was shipped, and
follows the live ones, until it is stopped. sluice serve DIR shows them. Can
be killed and started again at any time: nothing is lost and nothing is written
twice.

Exit codes: 0 all runs stored, 1 a run was refused (the others are stored), 2
bad usage, or the broker cannot be used, 7 a file cannot be written.

Examples:
  $ npx agent-sluice mirror runs --from nats://hub:4222
  $ npx agent-sluice mirror runs --from nats://hub:4222 --until-idle 2s`

/** `sluice mirror`: the runs that were shipped to NATS, as directories. */
export default {
  about: 'Stores the runs that were shipped to NATS JetStream as directories.',
  args: [['<dir>', 'the directory for the runs']],
  options: [
    ['--from <addresses>', 'nats://host:4222, or several with commas'],
    ['--tenant <name>', 'only the runs of this tenant (default: all)'],
    [
      '--until-idle <time>',
      'end when nothing arrived for this long: 2s, 1m (default: when it is stopped)',
      duration,
    ],
    ...natsRows,
  ],
  required: '--from',
  help,
  act: mirrorRuns,
} satisfies CommandTable

async function mirrorRuns(dir: string, { from, tenant, untilIdle, ...flags }: Flags): Promise<number> {
  const { mirror } = await import('../../nats/mirror.ts')
  return moveRuns('mirrored', async ({ signal, show, onRefused }) => {
    const { runs, events } = await mirror(dir, {
      ...natsOptions(from, flags, untilIdle === undefined),
      tenant,
      untilIdle,
      signal,
      onProgress: ({ runs, over, events }) =>
        show(() => `${runs} runs, ${over} of them over, ${events} events written`),
      onRefused,
    })
    return `wrote ${events} events of ${runs} runs`
  })
}

/** A mirror that runs while its directory is served. */
export async function mirrorInBackground(
  from: string,
  named: string | undefined,
  tenant: string | undefined,
  flags: NatsFlags,
) {
  const [{ openMirror }, { natsBroker }, { giveRemote }] = await Promise.all([
    import('../../nats/mirror.ts'),
    import('../../nats/nats-broker.ts'),
    import('../../nats/broker.ts'),
  ])
  const stop = new AbortController()
  const options = {
    ...natsOptions(from, flags, true),
    tenant,
    signal: stop.signal,
    onRefused: (path: string, fault: Error) => console.error(`sluice: ${notMoved(path, 'mirrored', fault)}`),
  }
  const dir = named ?? (await mkdtemp(join(tmpdir(), 'sluice-mirror-')))
  const removed = async () => {
    if (named === undefined) await rm(dir, { recursive: true, force: true })
  }
  // The journals of runs that go on are open when this returns, so the server does not think they ended.
  const mirrored = openMirror(dir, options)
  const broker = await natsBroker(options).catch(async (error) => {
    mirrored.close()
    await removed()
    throw error
  })
  let stopped = false
  const following = mirrored.follow(broker).then(
    () => {},
    // Refused runs were reported already.
    (error) => {
      if (!stopped) throw error
    },
  )
  const failed = following.then(() => new Promise<never>(() => {}))
  // It may fail before the server is up and handles it.
  failed.catch(() => {})
  const real = await realpath(dir)
  const nameOf = (path: string) => {
    const [tenant = '', run = ''] = relative(real, path).split(sep)
    return { tenant, run }
  }
  return {
    dir,
    /** How orders reach the hosts of the runs. */
    door: {
      takes: ({ key }) => mirrored.takesOrders(nameOf(key)),
      give: ({ key }, order) => giveRemote(broker, nameOf(key), order),
    } satisfies OrderDoor,
    /** Rejects when it cannot continue. */
    failed,
    /** Stops it, and removes its directory if that is a temporary one. */
    async close() {
      stopped = true
      stop.abort()
      await following.catch(() => {})
      await broker.close()
      mirrored.close()
      await removed()
    },
  }
}
