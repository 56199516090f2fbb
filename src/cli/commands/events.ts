import { Command } from 'commander'
import { eventLines } from '../event-line.ts'
import { addLast, type LastFlags, namedOrLast } from '../input/last-option.ts'
import { addRunInput, type RunFlags, readerLeft, runEvents } from '../input/run-input.ts'
import { flushed, linePrinter } from '../print.ts'
import { runExits, watchEnd } from '../run-exit-code.ts'

const examples = `
${runExits('stdin')}

Examples:
  $ codex exec --json "fix the test" | npx agent-sluice events
  $ npx agent-sluice events --stdout out.log --stderr err.log --exit 1
  $ npx agent-sluice events .audit/latest | jq .type
  $ npx agent-sluice events --last`

/** `sluice events`: the output of a run as RASP records, one per line. */
export default function eventsCommand(exit: (code: number) => void): Command {
  return addLast(addRunInput(new Command('events')))
    .description('Reads the output of an agent and prints what it meant as RASP events, as NDJSON.')
    .option('--json', 'print the events as NDJSON, as it does without')
    .addHelpText('after', examples)
    .action(async (file: string | undefined, flags: RunFlags & LastFlags) =>
      exit(await printEvents(file, flags)),
    )
}

async function printEvents(given: string | undefined, asked: RunFlags & LastFlags): Promise<number> {
  const { file, flags } = await namedOrLast(given, asked)
  const events = watchEnd(await runEvents(file, flags))
  const print = linePrinter()
  const lineOf = eventLines()
  for await (const event of events) {
    const open = print(lineOf(event))
    if (open !== true && !(await open)) return readerLeft(file, flags)
  }
  return (await flushed()) ? events.exit() : readerLeft(file, flags)
}
