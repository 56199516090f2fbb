import { digest } from '../../base/platform.ts'
import { type Engine, isRecord, type Say, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { calls } from '../calls.ts'
import { turns } from '../session-turns.ts'
import { claudeDiff, claudeDuration } from './change.ts'
import { promptOf, textOf } from './prompt.ts'
import { claudeTokens, messageTokens } from './tokens.ts'

type Line = Record<string, unknown>

/**
 * Claude Code's session files (`projects/<dir>/<session>.jsonl` in its home). They do not record the end of a
 * turn, so a run that did not fail is `unknown`. They also contain the work of subagents (`isSidechain`), and
 * copies after a resume.
 */
export const claudeSession: Engine = {
  name: 'claude',
  parser: 'claude_session',
  growing: true,
  cut: { stdout: 'records' },
  about: 'session file: projects/*/*.jsonl; 1.0, 2.1; read from published files, not run',
  shape: ({ value }) => isSpoken(value) || isBookkeeping(value),
  open() {
    const read = sessionReader()
    let known = false
    return {
      read({ value }, say) {
        known ||= isSpoken(value) || isBookkeeping(value)
        if (!known || !isRecord(value) || typeof value['type'] !== 'string') return false
        if (isSpoken(value)) return read(value, say)
        // Other records have no message: titles, snapshots of files, queued prompts.
        if (bookkeeping.has(value['type'])) return true
        if (value['type'] === 'system' && typeof value['sessionId'] === 'string')
          return readSystem(value, say)
        say.unknownType(value['type'])
        return false
      },
    }
  },
}

const bookkeeping = new Set([
  ...['summary', 'file-history-snapshot', 'queue-operation', 'progress', 'attachment', 'ai-title'],
  ...['custom-title', 'last-prompt', 'permission-mode', 'mode', 'tag', 'agent-name', 'pr-link'],
])

/** A line of the user or the assistant. Qwen Code's file is similar, but its messages have `parts`. */
function isSpoken(value: unknown): value is Line & { message: Line } {
  if (!isRecord(value) || !isRecord(value['message']) || 'parts' in value['message']) return false
  return (
    (value['type'] === 'user' || value['type'] === 'assistant') &&
    typeof value['sessionId'] === 'string' &&
    typeof value['uuid'] === 'string' &&
    (typeof value['parentUuid'] === 'string' || value['parentUuid'] === null) &&
    value['message']['role'] === value['type']
  )
}

/** A record that a file can begin with, before the first prompt. */
function isBookkeeping(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { type, sessionId, uuid, isSidechain } = value
  if (type === 'summary') return typeof value['leafUuid'] === 'string'
  if (type === 'file-history-snapshot') return isRecord(value['snapshot'])
  if (typeof sessionId !== 'string') return false
  if (type === 'queue-operation') return typeof value['operation'] === 'string'
  if (type === 'permission-mode') return typeof value['permissionMode'] === 'string'
  // A link of the chain: the output of a hook, an attached file.
  const chained = typeof uuid === 'string' && 'parentUuid' in value && typeof isSidechain === 'boolean'
  return chained && (type === 'system' || bookkeeping.has(text(type) ?? ''))
}

function readSystem(line: Line, say: Say): boolean {
  if (line['subtype'] === 'compact_boundary') say.status('compacted')
  // Written before each retry. The synthetic assistant line says whether the last one failed.
  if (line['subtype'] === 'api_error') say.error('the request to the model failed', 'warning')
  return true
}

const lineFields =
  'type uuid parentUuid logicalParentUuid sessionId timestamp cwd version gitBranch isSidechain userType message ' +
  'requestId toolUseResult isMeta isCompactSummary isVisibleInTranscriptOnly isApiErrorMessage apiErrorStatus error ' +
  'agentId slug thinkingMetadata todos permissionMode sourceToolAssistantUUID sourceToolUseID entrypoint promptId'

function sessionReader() {
  const begun = calls()
  /** Lines and blocks that were read: a resumed session has copies of them. */
  const seen = memory<true>(() => 0)
  /** Number of blocks of a message id: each of its lines has one. */
  const blocks = memory<number>(() => 0)
  /** The call of the subagent whose lines follow. */
  let task = 'sidechain'
  let model: string | undefined
  const added = messageTokens()
  const turn = turns()

  const isCopy = (...key: readonly string[]): boolean => {
    const name = digest(JSON.stringify(key))
    if (seen.get(name)) return true
    seen.set(name, true)
    return false
  }

  const blockId = (message: string): string => {
    const count = blocks.get(message) ?? 0
    blocks.set(message, count + 1)
    return count === 0 ? message : `${message}.${count}`
  }

  const assistant = (line: Line, message: Line, say: Say): boolean => {
    const id = text(message['id']) ?? text(line['uuid']) ?? 'message'
    const parent = line['isSidechain'] === true ? task : undefined
    if (line['isApiErrorMessage'] === true || message['model'] === '<synthetic>') {
      const words = textOf(message['content'])
      if (line['isApiErrorMessage'] === true && parent === undefined) turn.fail(words, say)
      else say.error(words, 'warning')
      return true
    }
    if (parent === undefined) turn.goOn(say)
    const { content, usage } = message
    if (parent === undefined && typeof message['model'] === 'string' && message['model'] !== model) {
      model = message['model']
      say.status('configured', { model })
    }
    const tokens = added(id, claudeTokens(usage))
    if (tokens) say.status('usage', { usage, tokens })
    for (const block of Array.isArray(content) ? content : [{ type: 'text', text: content }]) {
      if (!isRecord(block)) continue
      const type = text(block['type']) ?? ''
      const words = text(block['text']) ?? text(block['thinking']) ?? text(block['id']) ?? ''
      if (isCopy(id, type, words)) continue
      if (type === 'text') say.message(blockId(id), text(block['text']) ?? '', { parent })
      else if (type === 'thinking') say.reasoning(blockId(id), text(block['thinking']) ?? '')
      else if (type === 'tool_use') {
        const call = { id: words, name: text(block['name']) ?? 'tool', input: block['input'], parent }
        begun.begun(call.id, call.name, call.input)
        if (parent === undefined && (call.name === 'Task' || call.name === 'Agent')) task = call.id
        say.started(call)
      } else if (type !== 'redacted_thinking') say.unknownType(`content ${type}`)
    }
    return true
  }

  const result = (block: Line, line: Line, say: Say) => {
    const id = text(block['tool_use_id']) ?? ''
    if (isCopy('tool_result', id)) return
    const known = begun.ended(id)
    const parent = line['isSidechain'] === true ? task : undefined
    const detail = isRecord(line['toolUseResult']) ? line['toolUseResult'] : {}
    const duration_ms = claudeDuration(detail)
    const call = { id, name: known?.name ?? 'tool', output: block['content'], duration_ms, parent }
    if (block['is_error'] === true) {
      say.failed({ ...call, error: textOf(block['content']) })
      return
    }
    say.completed(call)
    const path = text(detail['filePath']) ?? known?.path
    if (path === undefined) return
    const diff = claudeDiff(detail)
    if (detail['type'] === 'create') say.artifact('created', path, diff)
    else if (detail['type'] === 'update' || call.name === 'Edit' || call.name === 'MultiEdit')
      say.artifact('modified', path, diff)
    else if (call.name === 'Write') say.artifact('created', path, diff)
  }

  const user = (line: Line, message: Line, say: Say): boolean => {
    const { content } = message
    for (const block of Array.isArray(content) ? content : []) {
      if (!isRecord(block) || block['type'] !== 'tool_result') continue
      result(block, line, say)
    }
    const { prompt, interrupted } = promptOf(content)
    if (line['isSidechain'] === true) return true
    if (interrupted) return turn.fail('interrupted by the user', say)
    if (prompt === undefined || line['isMeta'] === true || line['isCompactSummary'] === true) return true
    if (isCopy('user', text(line['uuid']) ?? '')) return true
    turn.begin(say)
    say.user(prompt)
    return true
  }

  return (line: Line & { message: Line }, say: Say): boolean => {
    say.fields(line, lineFields)
    say.session(line['sessionId'], { cwd: text(line['cwd']), engine_version: text(line['version']) })
    return line['type'] === 'user' ? user(line, line.message, say) : assistant(line, line.message, say)
  }
}
