import type { ReaderOptions, Say } from '../../events/engine.ts'
import { fits, type Rec } from '../../events/record.ts'
import { blocksOf, contentBlocks, wordsOf } from '../content-blocks.ts'
import { type Row, table } from '../record-table.ts'
import { turns } from '../session-turns.ts'
import { claudeDenial, tools } from './claude.ts'
import { claudeTokens, isResult, messageTokens, promptOf, sayResult } from './message.ts'

/** A link of the chain: the output of a hook, an attached file. */
const CHAINED = 'sessionId:text uuid:text parentUuid isSidechain:flag'
const FIELDS =
  'type uuid parentUuid logicalParentUuid sessionId timestamp cwd:text version:text gitBranch isSidechain:flag ' +
  'userType message message.content:text|list requestId toolUseResult isMeta:flag isCompactSummary:flag isVisibleInTranscriptOnly ' +
  'isApiErrorMessage:flag apiErrorStatus error agentId slug thinkingMetadata todos permissionMode ' +
  'sourceToolAssistantUUID sourceToolUseID entrypoint promptId promptSource imagePasteIds effort origin session_id sessionKind ' +
  'attributionPlugin attributionSkill attributionAgent attributionMcpServer attributionMcpTool toolDenialKind mcpMeta ' +
  'isAbortedMidStream:flag errorDetails supersedesUuids interruptedMessageId interruptedByShutdown toolEndsTurn ' +
  'classifierMetaLines turnCompanion'

const quiet = () => true

/** State of one file. */
function newFile({ named }: ReaderOptions) {
  return {
    named,
    blocks: contentBlocks(),
    turn: turns(),
    added: messageTokens(),
    /** The call of the subagent whose lines follow. */
    task: 'sidechain',
  }
}

type File = ReturnType<typeof newFile>

/**
 * Claude Code's session files (`projects/<dir>/<session>.jsonl` in its home). They do not record the end of a
 * turn, so a run that did not fail is `unknown`. They also contain the work of subagents (`isSidechain`), and
 * copies after a resume.
 */
export const claudeSession = /* @__PURE__ */ table<File>({
  name: 'claude',
  parser: 'claude_session',
  growing: true,
  tools,
  denials: claudeDenial,
  cut: { stdout: 'records' },
  about: 'session file: projects/*/*.jsonl; 1.0, 2.1; read from published files, not run',
  later: 'type:text',
  // stdout, and other agents' stdout, has the session in `session_id`.
  least: '!session_id !timestamp_ms',
  state: newFile,
  on: {
    user: /* @__PURE__ */ spoken('user', readUser),
    assistant: /* @__PURE__ */ spoken('assistant', readAnswer),
    system: {
      shape: CHAINED,
      least: 'subtype:text !systemPayload',
      read(line, say) {
        if (line.at('subtype') === 'compact_boundary') say.status('compacted')
        // Written before each retry. The synthetic assistant line says whether the last one failed.
        if (line.at('subtype') === 'api_error')
          say.error('the request to the model failed', 'warning', { retryable: true })
      },
    },
    // Other records have no message: titles, snapshots of files, queued prompts. A file can begin with them.
    summary: { shape: 'leafUuid:text', read: quiet },
    'file-history-snapshot': { shape: 'snapshot:record', read: quiet },
    'queue-operation': { shape: 'sessionId:text operation:text', read: quiet },
    'permission-mode': { shape: 'sessionId:text permissionMode:text', read: quiet },
    'progress, attachment, ai-title, custom-title, last-prompt, mode, tag, agent-name, pr-link, frame-link, bridge-session, atis-latch, relocated, worktree-state':
      { shape: CHAINED, read: quiet },
  },
})

type ReadSpoken = (line: Rec, content: unknown, say: Say, file: File) => void

/** A line of the user or the assistant. Qwen Code's file is similar, but its messages have `parts`. */
function spoken(role: string, read: ReadSpoken): Row<File> {
  const shape = `sessionId:text uuid:text parentUuid message.role=${role} !message.parts`
  const least = 'message.content'
  return {
    shape,
    least,
    read(line, say, file) {
      if (!fits(line.values, file.named ? least : shape)) {
        say.unknownType(role)
        return false
      }
      say.fields(line.values, FIELDS)
      say.session(line.at('sessionId'), { cwd: line.text('cwd'), engine_version: line.text('version') })
      read(line, line.at('message.content'), say, file)
      return true
    },
  }
}

/** The call of the subagent that a line belongs to. */
function parentOf(line: Rec, { task }: File): string | undefined {
  return line.at('isSidechain') === true ? task : undefined
}

function readAnswer(line: Rec, content: unknown, say: Say, file: File): void {
  const { turn, blocks } = file
  const own = line.text('message.id uuid')
  const id = own ?? 'message'
  const parent = parentOf(line, file)
  const failed = line.at('isApiErrorMessage') === true
  if (failed || line.at('message.model') === '<synthetic>') {
    if (failed && parent === undefined) turn.fail(wordsOf(content), say)
    else say.error(wordsOf(content), 'warning')
    return
  }
  if (parent === undefined) {
    turn.goOn(say)
    turn.model(line.text('message.model'), say)
  }
  const usage = line.at('message.usage')
  const tokens = file.added(id, claudeTokens(usage))
  if (tokens) say.status('usage', { usage, tokens })
  for (const block of blocksOf(content)) {
    const type = block.text('type') ?? ''
    if (!turn.isNew(own, type, block.text('text thinking id') ?? '')) continue
    const isTask = type === 'tool_use' && ['Task', 'Agent'].includes(block.text('name') ?? '')
    if (isTask && parent === undefined) file.task = block.text('id') ?? ''
    blocks.say(id, block, say, { parent, incomplete: line.at('isAbortedMidStream') === true })
  }
  // The lines of one message repeat it.
  const limited = parent === undefined && line.at('message.stop_reason') === 'max_tokens'
  if (limited && turn.isNew('limit', own)) say.turn('cut', 'max_tokens')
}

function readUser(line: Rec, content: unknown, say: Say, file: File): void {
  const { turn, blocks } = file
  const parent = parentOf(line, file)
  for (const block of blocksOf(content).filter(isResult))
    if (turn.isNew('tool_result', block.text('tool_use_id')))
      sayResult(block, line.record('toolUseResult'), blocks, say, parent)
  const { prompt, interrupted } = promptOf(content)
  if (parent !== undefined) return
  if (interrupted) turn.fail('interrupted by the user', say)
  if (prompt === undefined || line.at('isMeta') === true || line.at('isCompactSummary') === true) return
  if (!turn.isNew('user', line.text('uuid'))) return
  turn.begin(say)
  say.user(prompt)
}
