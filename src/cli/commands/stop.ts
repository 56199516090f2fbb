import type { CommandTable } from '../command-table.ts'
import { LATEST, type LatestFlags, orderOrSignal, recordedDir } from '../input/give-order.ts'

interface Flags extends LatestFlags {
  readonly now?: boolean
}

const help = `
A run that was started with --control is told to end its agent, and all that it
has started. The agent of any other run, also of one whose recorder was killed,
is found by the pid and the start time in its record: it gets SIGTERM, and
SIGKILL if it is still there after five seconds.

Exit codes: 0 stopped; 1 the run refused; 2 bad usage, or it has ended.

Examples:
  $ npx agent-sluice stop --last
  $ npx agent-sluice stop .audit/2026-11-17T09-00-00.123Z-1f2e3d4c --now`

/** `sluice stop`: ends a run. */
export default {
  about: 'Ends a run that goes on elsewhere, with all that its agent has started.',
  args: [['[dir]', 'the directory of the run']],
  options: [
    ['--last', `end the run at ${LATEST}`],
    ['--now', 'kill it, without a chance to end in order'],
  ],
  help,
  act: (given: string | undefined, flags: Flags) => {
    const { now = false } = flags
    return orderOrSignal(recordedDir(given, flags), { do: 'stop', now }, now ? 'SIGKILL' : 'SIGTERM')
  },
} satisfies CommandTable
