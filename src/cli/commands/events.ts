import { Command } from 'commander'
import { addRunInput, type RunFlags, readerLeft, runEvents } from '../input/run-input.ts'
import { flushed, printer } from '../print.ts'
import { runExits, watchEnd } from '../run-exit-code.ts'

const examples = `
${runExits('stdin')}

Examples:
  $ codex exec --json "fix the test" | npx agent-sluice events
  $ npx agent-sluice events --stdout out.log --stderr err.log --exit 1
  $ npx agent-sluice events .audit/latest`

/** `sluice events`: the output of a run as RASP records, one per line. */
export default function eventsCommand(exit: (code: number) => void): Command {
  return addRunInput(new Command('events'))
    .description('Reads the output of an agent and prints what it meant as RASP events, as NDJSON.')
    .addHelpText('after', examples)
    .action(async (file: string | undefined, flags: RunFlags) => exit(await printEvents(file, flags)))
}

async function printEvents(file: string | undefined, flags: RunFlags): Promise<number> {
  const events = watchEnd(await runEvents(file, flags))
  const print = printer()
  for await (const event of events) {
    const open = print(event)
    if (open !== true && !(await open)) return readerLeft(file, flags)
  }
  return (await flushed()) ? events.exit() : readerLeft(file, flags)
}
