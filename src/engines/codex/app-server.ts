import type { Say } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import { fits, Rec } from '../../events/record.ts'
import { type Tokens, tokenCounter, tokensOf } from '../../events/tokens.ts'
import { wordsOf } from '../content-blocks.ts'
import { errorText } from '../error-text.ts'
import { OpenPieces } from '../open-pieces.ts'
import { rows } from '../record-table.ts'
import { codexTokens, mcpName, type Phase, readCommand, readFileChange, sayCall } from './shared.ts'
import { askedIn, type BegunCall, decisionOf } from './wire.ts'

/** JSON-RPC, without the `jsonrpc` key unless `lenient`: the server's half of `codex app-server`. */
export function isServerLine({ values }: Rec, lenient = false): boolean {
  if (('jsonrpc' in values && !lenient) || 'type' in values) return false
  return typeof values['method'] === 'string' || fits(values, 'id result|error')
}

/** Lines of the app-server only: its greeting, a notification about a thread, a turn or an item. */
export function isServerShape(line: Rec): boolean {
  if (!isServerLine(line)) return false
  if (line.record('result'))
    return fits(line.values, 'result.userAgent:text') || threadAt(line, 'result.thread') !== undefined
  return fits(line.values, 'method=thread/started params:record') || fits(line.values, 'params.threadId:text')
}

/** A notification that this server is known to send, whatever is in it. */
export function isNotification(line: Rec): boolean {
  return notifications.rowOf(line) !== undefined
}

function threadAt(record: Rec, path: string): Rec | undefined {
  return Rec.of(record.at(path), 'id:text modelProvider')
}

/**
 * Reads the lines of one server, and what its client sent. A thread that the client did not open is a
 * subagent: it ends nothing. Since 0.169 no record says so but the call that started it.
 */
export class CodexServer {
  /** The client's threads: those that it opened or prompted; of a log without its half, the first seen. */
  readonly #own = memory<'answered' | 'seen'>(() => 0)
  /** By the thread of a subagent: the call that started it, or the thread if no call was seen before it. */
  readonly #parents = memory<string>((id) => id.length)
  /** By thread. */
  readonly speaking = new OpenPieces('message')
  readonly #thinking = new OpenPieces('reasoning')
  /** The last piece of each thought: of its summary or its content, and of which part. */
  readonly #parts = memory<{ readonly of: string; readonly part: number }>(() => 0)
  /** The tokens of each thread: its total counts from its start. */
  readonly #counters = memory<ReturnType<typeof tokenCounter>>(() => 0)
  /** The last turn that began in each thread. */
  readonly turns = memory<string>((id) => id.length)
  #usage: unknown
  /** The calls that have begun: a request names only the id of its call. */
  readonly #calls = memory<BegunCall>(({ changes }) => JSON.stringify(changes).length)
  /** The methods of the client's requests, by id. */
  readonly #methods = memory<string>((method) => method.length)
  #opened = false
  #answered = false
  /** The client has asked for a thread: what comes before the answer is not about it. */
  #asked = false

  read(line: Rec, say: Say): boolean | 'kept' {
    say.fields(line.values, 'jsonrpc id method params result error emittedAtMs')
    const method = line.text('method')
    if (method === undefined) return this.#response(line, say)
    const request = askedIn(method, line.record('params'), this.#calls)
    if (request === undefined) return notifications.read(line, say, this)
    say.asks({ id: line.at('id'), signal: method, ...request })
    return true
  }

  sent(line: Rec | undefined, say: Say): boolean | 'kept' {
    if (!line || !isServerLine(line)) return false
    const method = line.text('method')
    const choice = decisionOf(line.at('result.decision result.action'))
    if (method === undefined) return say.sent('answer', line.at('id'), choice?.id, line.at('result.answers'))
    this.#methods.set(JSON.stringify(line.at('id')) ?? '', method)
    this.#asked ||= opens.test(method)
    const to = method === 'turn/start' ? line.text('params.threadId') : undefined
    if (to !== undefined && (this.#parents.get(to) ?? to) === to) this.#opens(to, 'answered')
    if (method === 'turn/interrupt') say.sent('interrupt')
    const prompt = method === 'turn/start' ? wordsOf(line.list('params.input')) : ''
    return prompt === '' || say.sent('prompt', prompt)
  }

  /** What the records of a thread belong to: the call of a subagent; undefined for the client's own. */
  parent(threadId: string): string | undefined {
    const own = this.#own.get(threadId)
    // What was only seen is not ours if an answer has named ours.
    if (threadId === '' || own === 'answered' || (own && !this.#answered)) return undefined
    const known = this.#parents.get(threadId)
    // Without the answer that opened it, the first thread is the client's.
    if (known === undefined && !this.#opened && !this.#asked) return this.#opens(threadId, 'seen')
    if (known === undefined) this.#parents.set(threadId, threadId)
    return known ?? threadId
  }

  /** A call names the threads that it starts or speaks to. The first such call is what they belong to. */
  #called(threads: readonly unknown[], call: string): void {
    for (const id of threads)
      if (typeof id === 'string' && this.#parents.get(id) === undefined) this.#parents.set(id, call)
  }

  #opens(threadId: string, how: 'answered' | 'seen'): undefined {
    this.#opened = true
    this.#answered ||= how === 'answered'
    this.#own.set(threadId, how)
  }

  /** A thread begins. The answer to a request has its model and its directory outside of it. */
  thread(thread: Rec, outside: Rec | undefined, say: Say): void {
    const id = thread.text('id') ?? ''
    if (outside) this.#opens(id, 'answered')
    else if (thread.text('parentThreadId') !== undefined) this.#called([id], id)
    if (this.parent(id) !== undefined) return
    say.session(id, {
      model: outside?.text('model') ?? thread.text('model'),
      cwd: outside?.text('cwd') ?? thread.text('cwd'),
      engine_version: thread.text('cliVersion'),
    })
  }

  /** The answer to a request of the client. */
  #response(line: Rec, say: Say): true {
    const error = line.record('error')
    const method = this.#methods.take(JSON.stringify(line.at('id')) ?? '')
    if (error) this.#refused(errorText(error.values), method, say)
    const model = line.text('result.model')
    const thread = threadAt(line, 'result.thread')
    if (!thread || model === undefined) return true
    this.thread(thread, line.record('result'), say)
    say.status('configured', { model })
    return true
  }

  /** Without a thread, or without its turn, nothing else follows. */
  #refused(message: string, method: string | undefined, say: Say): void {
    const fatal =
      method !== undefined && /^(?:initialize|thread\/(?:start|resume|fork)|turn\/start)$/.test(method)
    say.error(message, fatal ? 'fatal' : 'error', { alone: !this.#opened })
    if (method === 'turn/start') say.turnOver('failed')
  }

  /** `total` counts from the start of the thread, as in `codex exec`. The end of the turn repeats it. */
  tokens(params: Rec, usage: Rec, say: Say): void {
    const threadId = threadOf(params)
    const total = usage.at('total')
    const parent = this.parent(threadId)
    if (parent === undefined) this.#usage = total
    const sum = codexTokens(total)
    if (!sum) return
    const known = this.#counters.get(threadId)
    const counter = known ?? tokenCounter()
    this.#counters.set(threadId, counter)
    // The answer to `thread/resume` is followed by what the turns before this run have used.
    const turnId = params.text('turnId')
    const isOther = turnId !== undefined && turnId !== this.turns.get(threadId)
    if (isOther && this.#own.get(threadId) === 'answered') {
      counter.startAt(sum)
      return
    }
    // A resumed thread has used some of it before this run.
    if (!known) counter.startAt(without(sum, codexTokens(usage.at('last')) ?? sum))
    say.status('token_count', { usage: total, tokens: counter.soFar(sum), parent })
  }

  /** A piece of a thought. The item joins the parts of its summary, or else those of its content. */
  thinks(params: Rec, of: 'summaryIndex' | 'contentIndex', say: Say): void {
    const threadId = threadOf(params)
    const id = params.text('itemId')
    const words = params.text('delta')
    if (!words) return
    const part = params.number(of) ?? 0
    const before = this.#parts.get(id ?? threadId) ?? { of, part }
    if (before.of !== of) return
    this.#parts.set(id ?? threadId, { of, part })
    const gap = part > before.part ? BETWEEN : ''
    this.#thinking.piece(threadId, id, gap + words, say, this.parent(threadId))
  }

  turnCompleted(params: Rec, say: Say): void {
    const threadId = threadOf(params)
    this.#thinking.leave(threadId, say)
    this.speaking.leave(threadId, say)
    if (this.parent(threadId) !== undefined) return
    // The end of a turn that is not the one that began.
    const [began, id] = [this.turns.get(threadId), params.at('turn.id')]
    if (began === undefined ? !params.has('turn') : id !== undefined && id !== began) return
    const status = params.text('turn.status') ?? 'unknown'
    say.turnOver(status === 'completed' ? 'well' : status === 'interrupted' ? 'interrupted' : 'failed')
    const reported = this.#usage === undefined ? {} : { usage: this.#usage }
    say.status(`turn_${status}`, reported)
    if (status === 'completed') say.ended('turn/completed')
    if (status === 'failed') say.error(errorText(params.at('turn.error')), 'fatal')
    if (status === 'interrupted') say.error('the turn was interrupted', 'fatal')
  }

  item(params: Rec, phase: Phase['phase'], say: Say): boolean | 'kept' {
    const threadId = threadOf(params)
    const item = params.record('item')
    if (!item) return false
    const id = item.text('id') ?? ''
    const pieces = phase === 'completed' ? this.#piecesOf(item) : undefined
    const spoken = pieces?.end(threadId, item.text('id'))
    if (phase === 'started' && item.has('changes')) this.#calls.set(id, { changes: item.list('changes') })
    if (phase === 'completed') say.settles({ call: id })
    this.#called(item.list('receiverThreadIds'), id)
    return items.read(item, say, { phase, spoken, parent: this.parent(threadId) })
  }

  #piecesOf(item: Rec): OpenPieces | undefined {
    if (item.at('type') === 'agentMessage') return this.speaking
    return item.at('type') === 'reasoning' ? this.#thinking : undefined
  }
}

const opens = /^thread\/(?:start|resume|fork)$/

const threadOf = (params: Rec): string => params.text('threadId') ?? ''

function without(sum: Tokens, last: Tokens): Tokens {
  const before = Object.entries(sum).map(([kind, count]) => [kind, count - (last[kind as keyof Tokens] ?? 0)])
  return tokensOf(Object.fromEntries(before)) ?? {}
}

const notifications = /* @__PURE__ */ rows<CodexServer>({
  by: 'method',
  of: 'params',
  fields: '*',
  // Deltas are repeated as a whole item. From the types that `codex app-server generate-ts` writes (0.169).
  quiet:
    'thread/status/changed thread/readState/changed thread/goal/cleared thread/goal/updated thread/name/updated ' +
    'thread/settings/updated thread/compacted thread/closed thread/archived thread/unarchived thread/deleted ' +
    'thread/reverted thread/section/changed thread/queue/changed thread/project/updated thread/prediction/updated ' +
    'thread/attachment/updated thread/environment/connected thread/environment/disconnected ' +
    'thread/realtime/started thread/realtime/closed thread/realtime/error thread/realtime/sdp ' +
    'thread/realtime/itemAdded thread/realtime/item/started thread/realtime/item/completed ' +
    'thread/realtime/item/transcript/delta thread/realtime/transcript/delta thread/realtime/transcript/done ' +
    'thread/realtime/outputAudio/delta turn/diff/updated turn/plan/updated turn/moderationMetadata ' +
    'item/plan/delta item/reasoning/summaryPartAdded ' +
    'item/commandExecution/outputDelta item/commandExecution/terminalInteraction item/fileChange/outputDelta ' +
    'item/fileChange/patchUpdated item/mcpToolCall/progress item/tool/call item/autoApprovalReview/started ' +
    'item/autoApprovalReview/completed autoApprovalReview/strictReviewRequired rawResponseItem/completed ' +
    'rawResponse/completed account/rateLimits/updated account/updated account/login/completed ' +
    'account/chatgptAuthTokens/refresh account/gatewayOAuth/changed attestation/generate currentTime/read ' +
    'remoteControl/status/changed skills/changed app/list/updated project/changed fs/changed ' +
    'mcpServer/startupStatus/updated mcpServer/oauthLogin/completed mcpServer/event/stream/notification ' +
    'hook/started hook/completed model/rerouted model/verification model/safetyBuffering/updated ' +
    'modelProvider/authRecoveryStarted modelProvider/authRecoveryCompleted command/exec/outputDelta ' +
    'process/outputDelta process/exited fuzzyFileSearch/sessionUpdated fuzzyFileSearch/sessionCompleted ' +
    'externalAgentConfig/import/progress externalAgentConfig/import/completed windowsSandbox/setupCompleted',
  on: {
    'thread/started'(params, say, server) {
      const thread = threadAt(params, 'thread')
      if (thread) server.thread(thread, undefined, say)
    },
    'turn/started'(params, say, server) {
      server.turns.set(threadOf(params), params.text('turn.id') ?? '')
      if (server.parent(threadOf(params)) !== undefined) return
      say.session(threadOf(params))
      say.turn('begins')
      say.status('turn_started')
    },
    'turn/completed': {
      fields: 'turn.status=completed|failed|interrupted|inProgress',
      read: (params, say, server) => server.turnCompleted(params, say),
    },
    'thread/tokenUsage/updated': {
      fields: 'tokenUsage:record',
      read(params, say, server) {
        const usage = params.record('tokenUsage')
        if (usage) server.tokens(params, usage, say)
      },
    },
    'serverRequest/resolved': (params, say) => void say.settles({ request: params.at('requestId') }),
    error: {
      fields: 'willRetry:flag',
      read(params, say, server) {
        // Only the end of the turn is fatal. A subagent's failure belongs to its call.
        const retryable = params.flag('willRetry')
        const mild = retryable || server.parent(threadOf(params)) !== undefined
        say.error(errorText(params.at('error')), mild ? 'warning' : 'error', { retryable })
      },
    },
    'configWarning, deprecationNotice': (params, say, _, line) =>
      say.error(params.text('summary') ?? line.text('method') ?? '', 'warning'),
    'warning, guardianWarning, windows/worldWritableWarning': (params, say, _, line) =>
      say.error(params.text('message') ?? line.text('method') ?? '', 'warning'),
    'item/agentMessage/delta': {
      fields: 'itemId:text delta:text',
      read(params, say, server) {
        const threadId = threadOf(params)
        const words = params.text('delta')
        if (words !== undefined)
          server.speaking.piece(threadId, params.text('itemId'), words, say, server.parent(threadId))
      },
    },
    'item/reasoning/summaryTextDelta': {
      fields: '* itemId:text delta:text summaryIndex:number',
      read: (params, say, server) => server.thinks(params, 'summaryIndex', say),
    },
    'item/reasoning/textDelta': {
      fields: '* itemId:text delta:text contentIndex:number',
      read: (params, say, server) => server.thinks(params, 'contentIndex', say),
    },
    'item/started': (params, say, server) => server.item(params, 'started', say),
    'item/completed': (params, say, server) => server.item(params, 'completed', say),
  },
})

const items = /* @__PURE__ */ rows<Phase>({
  called: 'item',
  fields:
    'id:text type startedAtMs completedAtMs durationMs:number status=inProgress|completed|failed|declined',
  // The review is repeated as a message, and the output of a function is that of its call.
  quiet: 'hookPrompt enteredReviewMode exitedReviewMode functionCallOutput subAgentActivity sleep',
  on: {
    userMessage(item, say, { phase, parent }) {
      const prompt = wordsOf(item.list('content'))
      if (phase === 'completed' && parent === undefined && prompt !== '') say.user(prompt)
    },
    agentMessage: {
      fields: 'text:text phase memoryCitation delivery questions moderation',
      read(item, say, { phase, parent, spoken }) {
        if (phase === 'completed') say.message(spoken, item.text('text'), { parent })
      },
    },
    reasoning: {
      fields: 'summary:list content:list',
      read(item, say, { phase, parent, spoken }) {
        const thought = paragraphs(item.list('summary')) || paragraphs(item.list('content'))
        if (phase === 'completed') say.reasoning(spoken, thought || undefined, { parent })
      },
    },
    commandExecution: {
      fields:
        'command cwd processId source commandActions aggregatedOutput exitCode:number pluginId scriptPath',
      read: readCommand,
    },
    fileChange: { fields: 'changes:list', read: readFileChange },
    mcpToolCall: (item, say, phase) => sayTool(item, mcpName(item), 'result', phase, say),
    dynamicToolCall: (item, say, phase) =>
      sayTool(item, item.text('tool') ?? 'tool', 'contentItems', phase, say),
    collabAgentToolCall(item, say, phase) {
      const input = { prompt: item.at('prompt') }
      sayCall(
        item,
        { name: item.text('tool') ?? 'collab', input, output: item.at('agentsStates') },
        phase,
        say,
      )
    },
    webSearch(item, say, phase) {
      sayCall(item, { name: 'web_search', input: { query: item.at('query') } }, phase, say)
    },
    imageView(item, say, phase) {
      sayCall(item, { name: 'image_view', input: { path: item.at('path') } }, phase, say)
    },
    imageGeneration(item, say, phase) {
      sayCall(item, { name: 'image_generation', input: { prompt: item.at('revisedPrompt') } }, phase, say)
    },
    plan(item, say, phase) {
      sayCall(item, { name: 'plan', output: item.at('text') }, phase, say)
    },
    contextCompaction(_, say, { phase, parent }) {
      if (phase === 'completed') say.status('compacted', { parent })
    },
  },
})

/** A tool of a server or of the client. */
function sayTool(item: Rec, name: string, output: string, phase: Phase, say: Say): void {
  sayCall(item, { name, input: item.at('arguments'), output: item.at(output) }, phase, say)
}

/** Between the parts of a thought. */
const BETWEEN = '\n\n'

function paragraphs(parts: readonly unknown[]): string {
  return parts.filter((part) => typeof part === 'string').join(BETWEEN)
}
