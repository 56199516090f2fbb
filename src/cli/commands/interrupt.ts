import type { CommandTable } from '../command-table.ts'
import { LATEST, type LatestFlags, orderOrSignal, recordedDir } from '../input/give-order.ts'

const help = `
A run that was started with --control is told to stop its turn, as by Ctrl-C in
its own terminal. The agent of any other run gets SIGINT.

Exit codes: 0 interrupted; 1 the run refused; 2 bad usage, or it has ended.

Examples:
  $ npx agent-sluice interrupt --last`

/** `sluice interrupt`: stops the turn of a run. */
export default {
  about: 'Interrupts the turn of a run that goes on elsewhere.',
  args: [['[dir]', 'the directory of the run']],
  options: [['--last', `interrupt the run at ${LATEST}`]],
  help,
  act: (given: string | undefined, flags: LatestFlags) =>
    orderOrSignal(recordedDir(given, flags), { do: 'interrupt' }, 'SIGINT'),
} satisfies CommandTable
