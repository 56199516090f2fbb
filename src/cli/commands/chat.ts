import { badOption } from '../../base/fault.ts'
import type { AgentEvent } from '../../events/event.ts'
import { isDatabase } from '../../run/opencode-db.ts'
import { through } from '../../streams/flow.ts'
import { chatStage } from '../../views/chat.ts'
import type { CommandTable } from '../command-table.ts'
import { aboutAudit, checkDrawing, type DrawFlags, drawing, isDrawn } from '../draw/flags.ts'
import { type ShowOptions, show } from '../draw/show.ts'
import { type LastFlags, lastOptions, namedOrLast } from '../input/last-option.ts'
import {
  FILE,
  isDirectory,
  type RunFlags,
  readerLeft,
  readsStdin,
  refuseSession,
  replayOptions,
  runEvents,
  runInput,
} from '../input/run-input.ts'
import { flushed, printer } from '../print.ts'
import { runExits, watchEnd } from '../run-exit-code.ts'

interface ChatFlags extends RunFlags, DrawFlags, LastFlags {
  readonly follow?: boolean
}

const help = `
On a terminal, or with --draw, it draws the conversation. In a pipe, or with
--json, it prints FCMP records as NDJSON.

${runExits('stdin')}

Examples:
  $ codex exec --json "fix the test" | npx agent-sluice chat
  $ npx agent-sluice chat --stdout out.log --stderr err.log --exit 0 --json
  $ npx agent-sluice chat .audit/latest --full --color | less -R
  $ npx agent-sluice chat .audit/latest --quiet > answer.md
  $ npx agent-sluice chat --last --follow   # watch the agent in this directory`

/** `sluice chat`: the output of a run as a conversation. */
export default {
  about: 'Reads the output of an agent and shows the conversation.',
  args: [FILE],
  options: [
    ...runInput,
    ...lastOptions(),
    ['--follow', 'keep reading while the file grows, until Ctrl-C'],
    ['--json', 'print FCMP records even on a terminal'],
    ...drawing,
  ],
  help,
  act: showChat,
} satisfies CommandTable

async function showChat(given: string | undefined, asked: ChatFlags): Promise<number> {
  checkDrawing(asked)
  const { file, flags } = await namedOrLast(given, asked)
  const events = watchEnd(flags.follow ? await followed(file, flags) : await runEvents(file, flags))
  const shown =
    isDrawn(flags) || flags.quiet
      ? await show(events, { ...flags, ...timesOf(file, flags) })
      : await printChat(events)
  return shown ? events.exit() : readerLeft(file, flags)
}

/** Whether the times of the events are those of the run, and what else is known about it. */
function timesOf(file: string | undefined, flags: ChatFlags): Pick<ShowOptions, 'timed' | 'live' | 'about'> {
  const live = flags.follow === true || readsStdin(file, flags)
  const recorded = file !== undefined && isDirectory(file)
  const started = live ? new Date().toISOString() : undefined
  return { live, timed: live || recorded, about: recorded ? aboutAudit(file) : () => ({ started }) }
}

/** A file or an audit directory that is still being written. */
async function followed(file: string | undefined, flags: ChatFlags): Promise<AsyncIterable<AgentEvent>> {
  const path = file ?? flags.stdout
  if (path === undefined || path === '-') throw badOption('--follow is for a file; stdin is followed anyway')
  if (isDatabase(path)) throw badOption('--follow cannot follow a database; read it again instead')
  refuseSession(path, flags)
  const { replay } = await import('../input/recorded-input.ts')
  return replay(path, { ...(await replayOptions(flags)), follow: true })
}

/** Prints FCMP records; false when the reader has left. */
async function printChat(events: AsyncIterable<AgentEvent>): Promise<boolean> {
  const print = printer()
  for await (const record of through(events, chatStage())) if (!(await print(record))) return false
  return flushed()
}
