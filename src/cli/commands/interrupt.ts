import { Command } from 'commander'
import { orderedRun, takesOrders } from '../../run/orders.ts'
import { signalAgent } from '../../run/signal-agent.ts'
import { exits } from '../exit-codes.ts'
import { giveAndWait } from '../input/give-order.ts'
import { LATEST, type LatestFlags, recordedDir } from '../input/recorded-dir.ts'

const examples = `
A run that was started with --control is told to stop its turn, as by Ctrl-C in
its own terminal. The agent of any other run gets SIGINT.

Exit codes: 0 interrupted; 1 the run refused; 2 bad usage, or it has ended.

Examples:
  $ npx agent-sluice interrupt --last`

/** `sluice interrupt`: stops the turn of a run. */
export default function interruptCommand(exit: (code: number) => void): Command {
  return new Command('interrupt')
    .description('Interrupts the turn of a run that goes on elsewhere.')
    .argument('[dir]', 'the directory of the run')
    .option('--last', `interrupt the run at ${LATEST}`)
    .addHelpText('after', examples)
    .action(async (given: string | undefined, flags: LatestFlags) => {
      const dir = recordedDir(given, flags)
      const run = orderedRun(dir)
      if (run && takesOrders(run)) return exit(await giveAndWait(dir, { do: 'interrupt' }))
      await signalAgent(dir, 'SIGINT', false)
      exit(exits.good)
    })
}
