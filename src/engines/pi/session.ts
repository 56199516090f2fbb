import type { Say } from '../../events/profile.ts'
import type { Rec } from '../../events/record.ts'
import { contentBlocks, wordsOf } from '../content-blocks.ts'
import { turns } from '../session-turns.ts'
import { rows, table } from '../table.ts'
import { callOf, isBroken, patchIn, sayPrompt, tokensIn } from './pi.ts'

function newFile() {
  return { turn: turns(), blocks: contentBlocks() }
}

type File = ReturnType<typeof newFile>

const ENTRY = 'id:text timestamp:text parentId'

/**
 * pi's session files (`agent/sessions/--<dir>--/*.jsonl` in its home): entries of a tree. The first line is
 * on stdout too, so the second one distinguishes the two. Each answer says how it ended (`stopReason`).
 */
export const piSession = table<File>({
  name: 'pi',
  parser: 'pi_session',
  growing: true,
  cut: { stdout: 'records' },
  about: 'session file: sessions/*/*.jsonl; 0.87, 0.73',
  later: ENTRY,
  state: newFile,
  on: {
    session: {
      shared: true,
      shape: 'version:number',
      read: (line, say) => say.session(line.at('id'), { cwd: line.text('cwd') }),
    },
    message: {
      shape: `${ENTRY} message:record`,
      read: (line, say, file) => messages.read(line, say, file),
    },
    compaction: { shape: ENTRY, read: (_line, say) => say.status('compacted') },
    model_change: {
      shape: ENTRY,
      read(line, say) {
        const model = line.text('modelId')
        if (model !== undefined) say.status('configured', { model })
      },
    },
    'thinking_level_change, context_edit, branch_summary, custom, custom_message, session_info, label': {
      shape: ENTRY,
      read: () => true,
    },
  },
})

const messages = rows<File>({
  by: 'message.role',
  called: 'role',
  quiet: 'system bashExecution custom',
  on: {
    user(line, say, { turn }) {
      sayPrompt(line.record('message')!, say)
      turn.begin(say)
    },
    assistant: (line, say, file) => readAnswer(line.text('id') ?? '', line.record('message')!, say, file),
    toolResult(line, say, { blocks }) {
      const message = line.record('message')!
      const output = message.at('content')
      const call = { ...callOf(message), output, error: wordsOf(output) }
      blocks.end(call, message.at('isError') === true, say, { fileDiff: patchIn(message) })
    },
  },
})

function readAnswer(id: string, message: Rec, say: Say, { turn, blocks }: File): void {
  turn.goOn(say)
  const reason = message.text('stopReason')
  const incomplete = isBroken(message)
  for (const block of message.records('content')) blocks.say(id, block, say, { incomplete })
  const usage = message.at('usage')
  say.status('step_finish', { reason: reason ?? 'unknown', usage, tokens: tokensIn(usage) })
  if (reason === 'stop') turn.end('stop', say)
  if (reason === 'length') say.truncated('length')
  // The next attempt, if there is one, follows a failed one.
  if (incomplete) turn.fail(message.text('errorMessage') ?? `the answer was ${reason}`, say)
}
