import { Command } from 'commander'
import { orderedRun, takesOrders } from '../../run/orders.ts'
import { signalAgent } from '../../run/signal-agent.ts'
import { exits } from '../exit-codes.ts'
import { giveAndWait } from '../input/give-order.ts'
import { LATEST, type LatestFlags, recordedDir } from '../input/recorded-dir.ts'

interface Flags extends LatestFlags {
  readonly now?: boolean
}

const examples = `
A run that was started with --control is told to end its agent, and all that it
has started. The agent of any other run, also of one whose recorder was killed,
is found by the pid and the start time in its record: it gets SIGTERM, and
SIGKILL if it is still there after five seconds.

Exit codes: 0 stopped; 1 the run refused; 2 bad usage, or it has ended.

Examples:
  $ npx agent-sluice stop --last
  $ npx agent-sluice stop .audit/2026-11-17T09-00-00.123Z-1f2e3d4c --now`

/** `sluice stop`: ends a run. */
export default function stopCommand(exit: (code: number) => void): Command {
  return new Command('stop')
    .description('Ends a run that goes on elsewhere, with all that its agent has started.')
    .argument('[dir]', 'the directory of the run')
    .option('--last', `end the run at ${LATEST}`)
    .option('--now', 'kill it, without a chance to end in order')
    .addHelpText('after', examples)
    .action(async (given: string | undefined, flags: Flags) => {
      const { now = false } = flags
      const dir = recordedDir(given, flags)
      const run = orderedRun(dir)
      if (run && takesOrders(run)) return exit(await giveAndWait(dir, { do: 'stop', now }))
      await signalAgent(dir, now ? 'SIGKILL' : 'SIGTERM', true)
      exit(exits.good)
    })
}
