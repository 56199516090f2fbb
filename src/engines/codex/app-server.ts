import { isRecord, type Say, text } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { type Tokens, tokenCounter, tokensOf } from '../../events/tokens.ts'
import { durationOf } from '../duration.ts'
import { errorText, readChanges } from './change.ts'
import { codexTokens } from './tokens.ts'

type Item = Record<string, unknown>

/** JSON-RPC without the `jsonrpc` key: the server's half of `codex app-server`. */
export function isServerLine(value: Item): boolean {
  if ('jsonrpc' in value || 'type' in value) return false
  return typeof value['method'] === 'string' || ('id' in value && ('result' in value || 'error' in value))
}

/** A refusal of the server, which can be its first line. */
export function isRefusal(value: Item): boolean {
  return 'id' in value && isRecord(value['error']) && Object.keys(value).length === 2
}

/**
 * Lines that only the app-server writes: its greeting, or a notification about a thread, a turn or an item.
 */
export function isServerShape(value: Item): boolean {
  if (!isServerLine(value)) return false
  const { method, params, result } = value
  if (isRecord(result)) return typeof result['userAgent'] === 'string' || isThread(result['thread'])
  return isRecord(params) && (method === 'thread/started' || typeof params['threadId'] === 'string')
}

function isThread(value: unknown): value is Item & { id: string } {
  return isRecord(value) && typeof value['id'] === 'string' && 'modelProvider' in value
}

/** Understood, with nothing to report: kept as raw, silently. Deltas are repeated as a whole item. */
const quiet = new Set(
  (
    'thread/status/changed thread/name/updated thread/settings/updated thread/compacted thread/closed thread/archived ' +
    'thread/unarchived turn/diff/updated turn/plan/updated item/plan/delta item/reasoning/summaryTextDelta ' +
    'item/reasoning/summaryPartAdded item/reasoning/textDelta item/commandExecution/outputDelta ' +
    'item/commandExecution/terminalInteraction item/fileChange/outputDelta item/fileChange/patchUpdated ' +
    'item/mcpToolCall/progress item/tool/call serverRequest/resolved account/rateLimits/updated account/updated ' +
    'account/login/completed account/chatgptAuthTokens/refresh remoteControl/status/changed skills/changed app/list/updated ' +
    'mcpServer/startupStatus/updated mcpServer/oauthLogin/completed hook/started hook/completed model/rerouted'
  ).split(' '),
)

/** Requests of the server that the user must answer. */
const questions = new Set(
  (
    'item/commandExecution/requestApproval item/fileChange/requestApproval item/permissions/requestApproval ' +
    'item/tool/requestUserInput mcpServer/elicitation/request execCommandApproval applyPatchApproval'
  ).split(' '),
)

/** Reads the lines of one server. Threads that another thread started are subagents: they end nothing. */
export function serverReader() {
  const subagents = memory<true>(() => 0)
  /** The message whose pieces are arriving, per thread. */
  const speaking = memory<string>((id) => id.length)
  let usage: unknown
  /** The tokens of each thread: its total counts from its start. */
  const counters = memory<ReturnType<typeof tokenCounter>>(() => 0)
  let asked = false

  const thread = (value: unknown, say: Say): void => {
    if (!isThread(value)) return
    const facts = {
      model: text(value['model']),
      cwd: text(value['cwd']),
      engine_version: text(value['cliVersion']),
    }
    if (typeof value['parentThreadId'] === 'string') subagents.set(value.id, true)
    else say.session(value.id, facts)
  }

  /** `total` counts from the start of the thread, as in `codex exec`. The end of the turn repeats it. */
  const tokenUsage = (reported: unknown, threadId: string, say: Say): true => {
    if (!isRecord(reported)) return true
    const { total, last } = reported
    if (!subagents.get(threadId)) usage = total
    const sum = codexTokens(total)
    if (!sum) return true
    const known = counters.get(threadId)
    const counter = known ?? tokenCounter()
    // A resumed thread has used some of it before this run.
    if (!known) counter.soFar(without(sum, codexTokens(last) ?? sum))
    counters.set(threadId, counter)
    say.status('token_count', { usage: total, tokens: counter.soFar(sum) })
    return true
  }

  const response = (line: Item, say: Say): boolean => {
    const { result, error } = line
    if (isRecord(error)) say.error(errorText(error))
    if (!isRecord(result) || !isThread(result['thread']) || typeof result['model'] !== 'string') return true
    const { model, thread: given } = result
    thread({ ...given, model, cwd: result['cwd'] ?? given['cwd'] }, say)
    say.status('configured', { model })
    return true
  }

  const closeOpen = (threadId: string, say: Say): void => {
    const open = speaking.take(threadId)
    if (open !== undefined) say.message(open, undefined, { incomplete: true })
  }

  const turnCompleted = (params: Item, threadId: string, say: Say): void => {
    closeOpen(threadId, say)
    if (subagents.get(threadId)) return
    const turn = isRecord(params['turn']) ? params['turn'] : {}
    const status = text(turn['status']) ?? 'unknown'
    const reported = usage === undefined ? {} : { usage }
    if (status === 'completed') {
      say.status('turn_completed', reported)
      say.ended('turn/completed')
    } else {
      say.status(status === 'failed' ? 'turn_failed' : `turn_${status}`, reported)
      if (status === 'failed') say.error(errorText(turn['error']), 'fatal')
      if (status === 'interrupted') say.error('the turn was interrupted', 'fatal')
    }
  }

  const notification = (method: string, params: Item, say: Say): boolean => {
    const threadId = text(params['threadId']) ?? ''
    const parent = subagents.get(threadId) ? threadId : undefined
    switch (method) {
      case 'thread/started':
        thread(params['thread'], say)
        return true
      case 'turn/started':
        if (parent !== undefined) return true
        say.session(threadId)
        say.begun()
        say.status('turn_started')
        return true
      case 'turn/completed':
        turnCompleted(params, threadId, say)
        return true
      case 'thread/tokenUsage/updated':
        return tokenUsage(params['tokenUsage'], threadId, say)
      case 'error':
        // Only the end of the turn is fatal.
        readError(params, say)
        return true
      case 'configWarning':
      case 'deprecationNotice':
        say.error(text(params['summary']) ?? method, 'warning')
        return true
      case 'warning':
        say.error(errorText(params), 'warning')
        return true
      case 'item/agentMessage/delta': {
        const id = text(params['itemId']) ?? ''
        // The model was asked again: the message before will not get any longer.
        if (speaking.get(threadId) !== id) closeOpen(threadId, say)
        speaking.set(threadId, id)
        say.delta(id, text(params['delta']) ?? '', { parent })
        return true
      }
      case 'item/started':
      case 'item/completed': {
        const { item } = params
        if (!isRecord(item)) return false
        const done = method === 'item/completed'
        if (done && item['id'] === speaking.get(threadId)) speaking.take(threadId)
        return readItem(item, done, parent, say)
      }
      default:
        if (quiet.has(method)) return true
        say.unknownType(method)
        return false
    }
  }

  return (line: Item, say: Say): boolean => {
    say.fields(line, 'id method params result error emittedAtMs')
    const method = text(line['method'])
    if (method === undefined) return response(line, say)
    const params = isRecord(line['params']) ? line['params'] : {}
    if (questions.has(method)) {
      asked = true
      say.status('approval_requested', { reason: method })
      say.ended(method)
      return true
    }
    // It was answered: the turn continues.
    if (asked && (method.startsWith('item/') || method.startsWith('turn/'))) {
      asked = false
      say.goesOn()
    }
    return notification(method, params, say)
  }
}

function without(sum: Tokens, last: Tokens): Tokens {
  const before = (kind: keyof Tokens) => (sum[kind] ?? 0) - (last[kind] ?? 0)
  const reported = { input: before('input'), output: before('output') }
  return tokensOf({ ...reported, cached: before('cached'), reasoning: before('reasoning') }) ?? {}
}

function readError({ error, willRetry }: Item, say: Say): void {
  const retryable = typeof willRetry === 'boolean' ? willRetry : undefined
  say.error(errorText(error), willRetry === true ? 'warning' : 'error', { retryable })
}

const common = 'id type startedAtMs completedAtMs durationMs'

function readItem(item: Item, done: boolean, parent: string | undefined, say: Say): boolean {
  const id = text(item['id']) ?? ''
  /** Reports a call; true if it succeeded. */
  const call = (name: string, input: unknown, output: unknown): boolean => {
    if (!done) {
      say.started({ id, name, input, parent })
      return false
    }
    const exit_code = typeof item['exitCode'] === 'number' ? item['exitCode'] : undefined
    const error = item['error'] ? errorText(item['error']) : undefined
    const { status, success } = item
    const duration_ms = durationOf(item['durationMs'])
    const ended = { id, name, input, output: output ?? undefined, exit_code, error, duration_ms, parent }
    const bad = status === 'failed' || status === 'declined' || success === false || (exit_code ?? 0) !== 0
    const failed = bad || error !== undefined
    if (failed) say.failed(ended)
    else say.completed(ended)
    return !failed
  }
  switch (item['type']) {
    case 'userMessage': {
      const prompt = partsText(item['content'])
      if (done && parent === undefined && prompt !== '') say.user(prompt)
      return true
    }
    case 'hookPrompt':
    case 'enteredReviewMode':
    // The review is repeated as a message.
    case 'exitedReviewMode':
      return true
    case 'agentMessage':
      say.fields(item, `${common} text phase memoryCitation delivery questions`)
      if (done) say.message(id, text(item['text']) ?? '', { parent })
      return true
    case 'reasoning': {
      say.fields(item, `${common} summary content`)
      const thought = joined(item['summary']) || joined(item['content'])
      if (done && thought !== '') say.reasoning(id, thought)
      return true
    }
    case 'commandExecution':
      say.fields(
        item,
        `${common} command cwd processId source status commandActions aggregatedOutput exitCode`,
      )
      call('command_execution', { command: item['command'] }, item['aggregatedOutput'])
      return true
    case 'fileChange':
      say.fields(item, `${common} changes status`)
      if (call('file_change', { changes: item['changes'] }, undefined)) readChanges(item['changes'], say)
      return true
    case 'mcpToolCall':
      call(`${item['server']}.${item['tool']}`, item['arguments'], item['result'])
      return true
    case 'dynamicToolCall':
      call(text(item['tool']) ?? 'tool', item['arguments'], item['contentItems'])
      return true
    case 'collabAgentToolCall':
      call(text(item['tool']) ?? 'collab', { prompt: item['prompt'] }, item['agentsStates'])
      return true
    case 'webSearch':
      call('web_search', { query: item['query'] }, undefined)
      return true
    case 'imageView':
      call('image_view', { path: item['path'] }, undefined)
      return true
    case 'plan':
      call('plan', undefined, item['text'])
      return true
    case 'contextCompaction':
      if (done) say.status('compacted')
      return true
    default:
      say.unknownType(`item ${String(item['type'])}`)
      return false
  }
}

function partsText(parts: unknown): string {
  const texts = (Array.isArray(parts) ? parts : []).map((part) => isRecord(part) && text(part['text']))
  return texts.filter(Boolean).join('\n')
}

function joined(parts: unknown): string {
  return (Array.isArray(parts) ? parts : []).filter((part) => typeof part === 'string').join('\n\n')
}
