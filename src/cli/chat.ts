import { Command } from 'commander'
import { type Chat, chatStage } from '../chat/chat.ts'
import type { Event } from '../events/event.ts'
import { runExits, watchEnd } from './exit-code.ts'
import { printer } from './print.ts'
import { addRunInput, type RunFlags, readerLeft, runEvents } from './run-input.ts'
import { show } from './show.ts'

interface ChatFlags extends RunFlags {
  readonly json?: boolean
}

const examples = `
On a terminal the conversation is drawn; in a pipe, or with --json, it is FCMP records as NDJSON.

${runExits}

Examples:
  $ codex exec --json "fix the test" | sluice chat
  $ sluice chat --stdout stdout.log --stderr stderr.log --pty pty-output.log --exit 0 --json
  $ sluice chat .audit/latest`

/** `sluice chat`: the output of a run as a conversation. */
export function chatCommand(exit: (code: number) => void): Command {
  return addRunInput(new Command('chat'))
    .summary('the output of an agent as a conversation')
    .description('Reads the output of an agent and shows the conversation.')
    .option('--json', 'print FCMP records, also on a terminal')
    .addHelpText('after', examples)
    .action(async (file: string | undefined, flags: ChatFlags) => exit(await showChat(file, flags)))
}

async function showChat(file: string | undefined, flags: ChatFlags): Promise<number> {
  const draw = process.stdout.isTTY && !flags.json
  const events = watchEnd(await runEvents(file, flags))
  const shown = draw ? await show(events, { draw }) : await printChat(events)
  return shown ? events.exit() : readerLeft(file, flags)
}

/** Prints FCMP records; false when no reader is left. */
async function printChat(events: AsyncIterable<Event>): Promise<boolean> {
  const print = printer()
  let records: Chat[] = []
  const sink = chatStage()({ write: (record) => void records.push(record), end() {} })
  for await (const event of events) {
    records = []
    sink.write(event)
    for (const record of records) if (!(await print(record))) return false
  }
  records = []
  sink.end()
  for (const record of records) if (!(await print(record))) return false
  return true
}
