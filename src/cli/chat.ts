import { Command } from 'commander'
import { type Chat, type ChatEnd, chat } from '../chat/chat.ts'
import { drawing } from './draw.ts'
import { output, printer } from './print.ts'
import { addRunInput, exitOf, type RunFlags, readerLeft, runEvents, runExits } from './run-input.ts'

interface ChatFlags extends RunFlags {
  readonly json?: boolean
}

const examples = `
On a terminal the conversation is drawn; in a pipe, or with --json, it is FCMP records as NDJSON.

${runExits}

Examples:
  $ codex exec --json "fix the test" | sluice chat
  $ sluice chat --stdout stdout.log --stderr stderr.log --pty pty-output.log --exit 0 --json`

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
  const show = flags.json || !process.stdout.isTTY ? printer() : painter()
  const events = await runEvents(file, flags)
  const records = chat()
  events.on('error', (error) => records.destroy(error))
  let end: ChatEnd | undefined
  for await (const record of events.pipe(records)) {
    end = endOf(record) ?? end
    if (!(await show(record))) return readerLeft(file, flags)
  }
  return exitOf(end, end?.result)
}

/** Draws on the terminal. */
function painter(): (record: Chat) => Promise<boolean> {
  const { stdout, env } = process
  const color = stdout.hasColors() && !env['NO_COLOR']
  const draw = drawing({ color, width: () => stdout.columns || 80 })
  const write = output()
  return (record) => write(draw(record))
}

function endOf({ type, data }: Chat): ChatEnd | undefined {
  switch (type) {
    case 'conversation.completed':
    case 'conversation.failed':
    case 'user.input.required':
      return data
    case 'diagnostic.warning':
      return data.state === undefined ? undefined : (data as ChatEnd)
    default:
      return undefined
  }
}
