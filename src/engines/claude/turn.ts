import { isRecord, type Say, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { tokenCounter } from '../../events/tokens.ts'
import { calls } from '../calls.ts'
import { statsTokens } from '../gemini/tokens.ts'
import { claudeDiff, claudeDuration } from './change.ts'
import { promptOf } from './prompt.ts'
import { askedFor, factsOf, isHook, readRateLimit, readSystem } from './system.ts'
import { claudeTokens, messageTokens } from './tokens.ts'

type Message = Record<string, unknown>

const LINE_FIELDS =
  'type uuid session_id parent_tool_use_id message supersedes aborted error timestamp request_id wire_tool_inputs tool_use_meta subagent_type task_description'

/** Reads the messages of one run: what was said, thought and called, turn by turn. */
export function conversation() {
  /** The message whose pieces are arriving, per speaker (the main agent, or a subagent's call). */
  const streaming = memory<string>((id) => id.length)
  /** Number of content blocks seen of a message id: several lines can share it. */
  const blocks = memory<number>(() => 0)
  /** The message that began last, per speaker. */
  const messageIds = memory<string>((id) => id.length)
  const begun = calls()
  let answered = false
  /** Messages whose end came before their `assistant` line (Qwen 0.7): that line repeats them. */
  const stopped = memory<true>(() => 0)
  /** The engine's message in place of an answer. */
  let engineMessage: string | undefined
  /** The agent waits for a permission. */
  let asked = false
  /** Tokens of the messages of this turn. Used if `result` reports no usage (Amp). */
  let spent = tokenCounter()
  const added = messageTokens()
  /** The `usage` of Qwen Code counts from the start of its session; the others count the turn. */
  let sums = false
  /** The session named in lines of hooks before the run began: its first line has more about it. */
  let named: unknown
  let began = false

  const blockId = (message: string): string => {
    const count = blocks.get(message) ?? 0
    blocks.set(message, count + 1)
    return count === 0 ? message : `${message}.${count}`
  }

  const assistant = (line: Message, say: Say, extra: boolean): boolean => {
    say.fields(line, LINE_FIELDS)
    if (!isRecord(line['message'])) return false
    const { id, content, stop_reason, model } = line['message']
    if (model === '<synthetic>') return synthetic(line, content, say)
    const parent = text(line['parent_tool_use_id'])
    const incomplete = line['aborted'] === true || undefined
    const message = text(id) ?? text(line['uuid']) ?? 'message'
    const tokens = claudeTokens(line['message']['usage'])
    const more = id === undefined ? tokens : added(message, tokens)
    if (more) spent.add(more)
    const repeated = stopped.take(message) === true
    for (const block of Array.isArray(content) ? content : [{ type: 'text', text: content }]) {
      if (!isRecord(block)) continue
      if (block['type'] === 'text') {
        if (repeated) continue
        const open = streaming.take(speakerOf(parent, extra))
        answered ||= !extra && parent === undefined
        say.message(open ?? blockId(message), text(block['text']) ?? '', { parent, incomplete })
      } else if (block['type'] === 'thinking') say.reasoning(blockId(message), text(block['thinking']) ?? '')
      else if (block['type'] === 'tool_use') {
        const call = {
          id: text(block['id']) ?? '',
          name: text(block['name']) ?? 'tool',
          input: block['input'],
          parent,
        }
        begun.begun(call.id, call.name, call.input)
        say.started(call)
      } else if (block['type'] !== 'redacted_thinking') say.unknownType(`content ${String(block['type'])}`)
    }
    if (Array.isArray(line['supersedes'])) say.status('superseded', { reason: line['supersedes'].join(' ') })
    if (stop_reason === 'max_tokens') say.truncated('max_tokens')
    return true
  }

  /**
   * The engine writes in place of the model, mostly because a request failed. `result` says whether the run
   * failed.
   */
  const synthetic = (line: Message, content: unknown, say: Say): boolean => {
    const blocks = Array.isArray(content) ? content : [{ text: content }]
    engineMessage = blocks.map((block) => (isRecord(block) ? (text(block['text']) ?? '') : '')).join('\n')
    say.error(engineMessage || text(line['error']) || 'an error without a message', 'error')
    return true
  }

  const user = (line: Message, say: Say): boolean => {
    say.fields(
      line,
      'type uuid session_id parent_tool_use_id message isReplay isSynthetic tool_use_result timestamp',
    )
    const content = isRecord(line['message']) ? line['message']['content'] : undefined
    const parent = text(line['parent_tool_use_id'])
    const { prompt } = promptOf(content)
    // The prompt of a subagent comes from the agent, and a synthetic one from the engine.
    if (prompt !== undefined && parent === undefined && line['isSynthetic'] !== true) say.user(prompt)
    for (const block of Array.isArray(content) ? content : []) {
      if (!isRecord(block) || block['type'] !== 'tool_result') continue
      const id = text(block['tool_use_id']) ?? ''
      const known = begun.ended(id)
      const output = block['content']
      const reported = isRecord(line['tool_use_result']) ? line['tool_use_result'] : {}
      const duration_ms = claudeDuration(reported)
      const call = { id, name: known?.name ?? 'tool', output, duration_ms, parent }
      if (block['is_error'] === true) {
        say.failed({ ...call, error: text(output) })
        continue
      }
      say.completed(call)
      const path = known?.path ?? text(reported['filePath'])
      const diff = claudeDiff(reported)
      if (path !== undefined && /^write/i.test(call.name))
        say.artifact(reported['type'] === 'update' ? 'modified' : 'created', path, diff)
      if (path !== undefined && /^(multi)?edit$/i.test(call.name)) say.artifact('modified', path, diff)
    }
    return true
  }

  /** Pieces of a message. The same text comes again in the `assistant` line: that one is final. */
  const piece = (line: Message, say: Say, extra: boolean): boolean => {
    const event = isRecord(line['event']) ? line['event'] : {}
    const parent = text(line['parent_tool_use_id'])
    const speaker = speakerOf(parent, extra)
    if (event['type'] === 'message_start' && isRecord(event['message'])) {
      // It was broken off (the model is asked again), or its end was lost: this one replaces it.
      const left = streaming.take(speaker)
      if (left !== undefined) say.message(left, undefined, { incomplete: true })
      messageIds.set(speaker, text(event['message']['id']) ?? 'message')
    } else if (event['type'] === 'content_block_delta' && isRecord(event['delta'])) {
      const part = text(event['delta']['text'])
      if (event['delta']['type'] !== 'text_delta' || part === undefined) return true
      say.delta(openOf(speaker, say), part, { parent })
    } else if (event['type'] === 'message_stop') {
      const open = streaming.take(speaker)
      if (open === undefined) return true
      answered ||= !extra && parent === undefined
      say.message(open)
      stopped.set(messageIds.get(speaker) ?? 'message', true)
    }
    return true
  }

  const openOf = (speaker: string, say: Say): string => {
    const known = streaming.get(speaker)
    if (known !== undefined) return known
    const open = blockId(messageIds.get(speaker) ?? 'message')
    for (const forgotten of streaming.set(speaker, open))
      say.message(forgotten, undefined, { incomplete: true })
    return open
  }

  const result = (line: Message, say: Say): boolean => {
    const subtype = text(line['subtype']) ?? 'unknown'
    const answer = text(line['result'])
    const excused = engineMessage !== undefined && answer === engineMessage
    const failed = subtype !== 'success' || line['is_error'] === true || excused
    // It repeats the last answer; it is the answer only if nothing else was said (json mode), unless it is an
    // error.
    if (!failed && !answered && answer !== undefined && answer !== '') say.message(undefined, answer)
    const { usage, stats } = line
    const tokens = statsTokens(stats) ?? claudeTokens(usage) ?? spent.sum()
    const counts = sums ? { tokensSoFar: tokens } : { tokens }
    say.status('result', { reason: subtype, usage, stats, ...counts })
    if (subtype === 'success') say.ended('result success')
    if (failed) say.error(failure(line, subtype), 'fatal')
    answered = false
    engineMessage = undefined
    spent = tokenCounter()
    return true
  }

  return {
    /**
     * `extra`: only the PTY has the line, so it does not belong to the current message of the other lines.
     */
    read(line: Message, say: Say, extra: boolean): boolean {
      began ||= !isHook(line)
      if (began) say.session(line['session_id'], factsOf(line))
      else named = line['session_id']
      sums ||= 'qwen_code_version' in line
      const control = text(line['type'])?.startsWith('control_') === true
      // The agent continues, so its question was answered.
      if (asked && !control) say.goesOn()
      asked &&= control
      switch (line['type']) {
        case 'system':
          return readSystem(line, say)
        case 'rate_limit_event':
          return readRateLimit(line['rate_limit_info'], say)
        case 'control_request': {
          const tool = askedFor(line['request'])
          if (tool === undefined) return true
          asked = true
          say.ended(`can_use_tool ${tool}`)
          return true
        }
        case 'control_response':
        case 'control_cancel_request':
          return true
        case 'assistant':
          return assistant(line, say, extra)
        case 'user':
          return user(line, say)
        case 'stream_event':
          return piece(line, say, extra)
        case 'result':
          return result(line, say)
        default:
          say.unknownType(String(line['type']))
          return false
      }
    },
    /** End of input. */
    end(say: Say): void {
      if (!began) say.session(named)
    },
  }
}

/** The main agent, or a subagent's call; a separate speaker for lines that only the PTY has. */
function speakerOf(parent: string | undefined, extra: boolean): string {
  return extra ? `pty ${parent ?? ''}` : (parent ?? '')
}

function failure(line: Message, subtype: string): string {
  const error = isRecord(line['error']) ? text(line['error']['message']) : text(line['error'])
  const errors = Array.isArray(line['errors']) ? line['errors'].map(String).join('; ') : undefined
  return error ?? (errors || undefined) ?? text(line['result']) ?? subtype
}
