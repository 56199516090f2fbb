import { badOption, quote } from '../../base/fault.ts'
import { listAttempts } from '../../run/attempt-logs.ts'
import { readMeta } from '../../run/meta.ts'
import { reply } from '../../run/run.ts'
import { fixedDir } from '../../run/run-directory.ts'
import type { CommandTable } from '../command-table.ts'
import { checkDrawing } from '../draw/flags.ts'
import { namedEngine } from '../input/engine-option.ts'
import { LATEST, type LatestFlags } from '../input/give-order.ts'
import { readPrompt } from '../input/open-input.ts'
import { runExits } from '../run-exit-code.ts'
import { type RunningFlags, running, showRun } from './run.ts'

interface Flags extends RunningFlags, LatestFlags {}

const help = `
The text goes to the agent's stdin, in the session of the last attempt, with the
options that attempt had, and in its directory. What cannot be continued says
why, and nothing is started (exit code 2).

${runExits('run')}

Examples:
  $ npx agent-sluice reply "and now the docs"
  $ npx agent-sluice reply .audit/2026-11-17T09-00-00.123Z-1f2e3d4c "the docs"
  $ npx agent-sluice reply .audit/latest - < answer.txt`

/** `sluice reply`: continues a recorded run. */
export default {
  about: "Continues a recorded run in the agent's own session, and shows the conversation live.",
  usage: '[options] [dir] <text>',
  args: [['<text...>', `the directory of the run (default: ${LATEST}), and the text; - reads it from stdin`]],
  options: [['--last', `continue the run at ${LATEST}, as it does without a directory`], ...running],
  help,
  act: replyAndShow,
} satisfies CommandTable

async function replyAndShow(words: readonly string[], flags: Flags): Promise<number> {
  checkDrawing(flags)
  if (words.length > 2)
    throw badOption('there are more words than a directory and one text; put quotes around the text')
  if (flags.last && words.length === 2)
    throw badOption('--last finds the run itself; leave out the directory, or put quotes around the text')
  const [dir, given] = words.length === 2 ? words : [LATEST, words[0]]
  if (words.length === 1 && listAttempts(given!).length > 0)
    throw badOption(`the text is missing: sluice reply ${quote(given!, 200)} "…"`)
  const text = given === '-' ? await readPrompt('-') : given!
  const engine = flags.engine === undefined ? undefined : await namedEngine(flags.engine)
  // A link such as `latest` may point to another run a moment later.
  const fixed = fixedDir(dir!)
  const talk = readMeta(listAttempts(fixed).at(-1)?.meta)?.prompt === 'wire'
  return await showRun(flags, (options) => reply(fixed, text, { ...options, engine }), { talk })
}
