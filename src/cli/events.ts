import { Command } from 'commander'
import { type CompletionData, isEvent, type ResultData } from '../events/event.ts'
import { printer } from './print.ts'
import { addRunInput, exitOf, type RunFlags, readerLeft, runEvents, runExits } from './run-input.ts'

const examples = `
${runExits}

Examples:
  $ codex exec --json "fix the test" | sluice events
  $ sluice events --engine gemini --stdout stdout.log --stderr stderr.log --exit 1`

/** `sluice events`: the output of a run as RASP records, one per line. */
export function eventsCommand(exit: (code: number) => void): Command {
  return addRunInput(new Command('events'))
    .summary('the output of an agent as events')
    .description('Reads the output of an agent and prints what it meant as RASP events, as NDJSON.')
    .addHelpText('after', examples)
    .action(async (file: string | undefined, flags: RunFlags) => exit(await printEvents(file, flags)))
}

async function printEvents(file: string | undefined, flags: RunFlags): Promise<number> {
  const flow = await runEvents(file, flags)
  const print = printer()
  let end: CompletionData | undefined
  let result: ResultData | undefined
  for await (const event of flow) {
    if (isEvent(event, 'lifecycle.completion.state')) end = event.data
    if (isEvent(event, 'lifecycle.run.result')) result = event.data
    if (!(await print(event))) return readerLeft(file, flags)
  }
  return exitOf(end, result)
}
