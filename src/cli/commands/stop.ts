import { Command } from 'commander'
import { orderedRun, takesOrders } from '../../run/orders.ts'
import { signalAgent } from '../../run/stop-agent.ts'
import { exits } from '../exit-codes.ts'
import { giveAndWait } from '../input/give-order.ts'

const examples = `
A run that was started with --control is told to end its agent, and all that it
has started. The agent of any other run, also of one whose recorder was killed,
is found by the pid and the start time in its record: it gets SIGTERM, and
SIGKILL if it is still there after five seconds.

Exit codes: 0 stopped; 1 the run refused; 2 bad usage, or it has ended.

Examples:
  $ npx agent-sluice stop .audit/latest
  $ npx agent-sluice stop .audit/latest --now`

/** `sluice stop`: ends a run. */
export default function stopCommand(exit: (code: number) => void): Command {
  return new Command('stop')
    .description('Ends a run that goes on elsewhere, with all that its agent has started.')
    .argument('<dir>', 'the directory of the run')
    .option('--now', 'kill it, without a chance to end in order')
    .addHelpText('after', examples)
    .action(async (dir: string, { now = false }: { now?: boolean }) => {
      const run = orderedRun(dir)
      if (run && takesOrders(run)) return exit(await giveAndWait(dir, { do: 'stop', now }))
      await signalAgent(dir, now ? 'SIGKILL' : 'SIGTERM', true)
      exit(exits.good)
    })
}
