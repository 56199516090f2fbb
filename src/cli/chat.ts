import type { Command } from 'commander'
import { type Chat, type ChatEnd, chat } from '../chat/chat.ts'
import { drawing } from './draw.ts'
import { put } from './put.ts'
import { addRunInput, exitCodeOf, type RunInputOptions, runEvents } from './run-input.ts'

/** `sluice chat`: a conversation; drawn on a terminal, FCMP records in a pipe. */
export function addChatCommand(program: Command): void {
  const command = program.command('chat').description('the output of an agent as a conversation')
  addRunInput(command)
    .option('--json', 'FCMP records (NDJSON), also on a terminal')
    .action(async (file: string | undefined, options: RunInputOptions & { readonly json?: true }) => {
      const { stdout } = process
      const drawn = stdout.isTTY && !options.json
      const color = drawn && stdout.hasColors() && !process.env['NO_COLOR']
      const show = drawn ? drawing({ color, width: () => stdout.columns || 80 }) : asJson
      const events = await runEvents(file, options, command)
      const records = chat()
      events.on('error', (error) => records.destroy(error))
      let end: ChatEnd | undefined
      for await (const record of events.pipe(records)) {
        if ('state' in record.data && record.data.state !== undefined) end = record.data as ChatEnd
        if (!(await put(show(record)))) return
      }
      process.exitCode = exitCodeOf(end, end?.result)
    })
}

function asJson(record: Chat): string {
  return `${JSON.stringify(record)}\n`
}
