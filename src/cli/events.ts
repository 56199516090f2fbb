import type { Command } from 'commander'
import { type CompletionData, isEvent, type ResultData } from '../events/event.ts'
import { put } from './put.ts'
import { addRunInput, exitCodeOf, type RunInputOptions, runEvents } from './run-input.ts'

/** `sluice events`: the output of a run as RASP records, one per line. */
export function addEventsCommand(program: Command): void {
  const command = program.command('events').description('the output of an agent as RASP events (NDJSON)')
  addRunInput(command).action(async (file: string | undefined, options: RunInputOptions) => {
    let end: CompletionData | undefined
    let result: ResultData | undefined
    for await (const event of await runEvents(file, options, command)) {
      if (isEvent(event, 'lifecycle.completion.state')) end = event.data
      if (isEvent(event, 'lifecycle.run.result')) result = event.data
      if (!(await put(`${JSON.stringify(event)}\n`))) return
    }
    process.exitCode = exitCodeOf(end, result)
  })
}
