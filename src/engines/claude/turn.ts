import { costOf } from '../../events/cost.ts'
import type { MessageFacts, RunFacts, Say } from '../../events/engine.ts'
import { memory } from '../../events/memory.ts'
import type { Rec } from '../../events/record.ts'
import { tokenCounter } from '../../events/tokens.ts'
import { errorAnswer } from '../api-errors.ts'
import { blocksOf, contentBlocks, USES, wordsOf } from '../content-blocks.ts'
import { errorText } from '../error-text.ts'
import { rows } from '../record-table.ts'
import { statsTokens } from '../token-parts.ts'
import { claudeTokens, isResult, messageTokens, modelTokens, promptOf, sayResult } from './message.ts'
import { askedIn, choiceIn } from './wire.ts'

/** What is known of one run: what was said, thought and called, turn by turn. */
function newRun() {
  return {
    blocks: contentBlocks(),
    /** The message and the thought whose pieces are arriving, per speaker (the main agent, or a call). */
    streaming: { text: memory<string>((id) => id.length), thinking: memory<string>((id) => id.length) },
    /** The calls whose input is arriving, by speaker and index of their block. */
    inputs: memory<{ readonly id: string; readonly name: string }>(({ id, name }) => id.length + name.length),
    /** The message that began last, per speaker. */
    messageIds: memory<string>((id) => id.length),
    /** What messages had said when their end came, before their `assistant` line (Qwen 0.7) repeats it. */
    stopped: memory<readonly unknown[]>(() => 0),
    answered: false,
    /** The engine's message in place of an answer. */
    engineMessage: undefined as string | undefined,
    /** Tokens of the messages of this turn. Used if `result` reports no usage (Amp). */
    spent: tokenCounter(),
    added: messageTokens(),
    /** Tokens of all models since the process began, as `total_cost_usd` counts them. */
    models: tokenCounter(),
    /** The `usage` of Qwen Code counts from the start of its session; the others count the turn. */
    sums: false,
    /** The model has answered something, or called a tool. */
    worked: false,
    /** The session of the last `init` line. */
    session: undefined as string | undefined,
    /** The session named in lines of hooks before the run began: its first line has more about it. */
    named: undefined as unknown,
    began: false,
    /** The last answer reached the limit of tokens: several lines say so. */
    limited: false,
    /** Calls that the engine says were denied, and calls whose result was told. */
    denied: memory<true>(() => 0),
    ended: memory<true>(() => 0),
    /** Only the PTY has this line, so it does not belong to the current message of the other lines. */
    extra: false,
  }
}

type Run = ReturnType<typeof newRun>

/** Reads the messages of one run. */
export function conversation() {
  const run = newRun()
  return {
    read(line: Rec, say: Say, extra: boolean): boolean | 'kept' {
      run.extra = extra
      run.began ||= !isHook(line)
      if (isInit(line)) run.session = line.text('session_id')
      else if (run.began) run.session ??= line.text('session_id')
      if (run.began && !isOfOther(line, run)) say.session(line.at('session_id'), factsOf(line))
      else if (!run.began) run.named = line.at('session_id')
      run.sums ||= line.has('qwen_code_version')
      return lines.read(line, say, run)
    },
    /** End of input. */
    end(say: Say): void {
      if (!run.began) say.session(run.named)
    },
  }
}

export function readSent(line: Rec | undefined, say: Say): boolean | 'kept' {
  if (!line) return false
  if (line.at('request.subtype') === 'interrupt') say.sent('interrupt')
  if (line.at('type') === 'control_response')
    return say.sent(
      'answer',
      line.at('response.request_id'),
      choiceIn(line.record('response.response')),
      line.at('response.response.updatedInput.answers'),
    )
  const { prompt } = line.at('type') === 'user' ? promptOf(line.at('message.content')) : {}
  return prompt === undefined || say.sent('prompt', prompt)
}

const lines = /* @__PURE__ */ rows<Run>({
  quiet: 'control_response',
  fields:
    'type uuid:text session_id:text parent_tool_use_id:text message:record message.content:text|list timestamp',
  on: {
    system: (line, say, run) => systemLines.read(line, say, run),
    rate_limit_event(line, say) {
      // `allowed` comes with every run; only a limit that was reached is reported.
      if (line.at('rate_limit_info.status') === 'rejected') say.error('the rate limit is reached', 'warning')
    },
    control_request(line, say) {
      const request = line.record('request')
      if (request?.at('subtype') === 'can_use_tool') say.asks(askedIn(line.at('request_id'), request))
    },
    control_cancel_request: (line, say) => void say.settles({ request: line.at('request_id') }),
    assistant: {
      fields:
        'supersedes:list aborted:flag error request_id wire_tool_inputs tool_use_meta subagent_type task_description',
      read: readAnswer,
    },
    user: { fields: 'isReplay:flag isSynthetic:flag tool_use_result tool_result_meta:list', read: readUser },
    stream_event: readPiece,
    result: {
      fields: '* result:text is_error:flag usage:record total_cost_usd:number permission_denials:list',
      read: readResult,
    },
  },
})

/** The `system` lines: the start of a turn, a retry, a task, a change of the context. */
const systemLines = /* @__PURE__ */ rows<Run>({
  by: 'subtype',
  called: 'system',
  quiet: 'hook_started hook_progress hook_response notification thinking_tokens',
  on: {
    init(line, say) {
      say.turn('begins')
      // It comes with each turn; `started` has the facts of the first one.
      say.status('turn_started', factsOf(line))
    },
    'retry, api_retry'(line, say) {
      const reason = retryReason(line)
      say.status('retrying', { reason })
      say.error(reason, 'warning', { retryable: true })
    },
    status(line, say) {
      // `requesting` and null come with every request.
      if (line.at('status') === 'compacting') say.status('compacting')
    },
    // Its result follows, in the words of the rule that denied it.
    permission_denied: (line, _, run) => void run.denied.set(line.text('tool_use_id') ?? '', true),
    compact_boundary: (line, say) =>
      say.status('compacted', { reason: line.text('compact_metadata.trigger') }),
    'task_started, task_progress, task_updated, task_notification': (line, say) =>
      say.status(line.text('subtype')!, { reason: line.text('status description') }),
  },
})

/** A hook of the session start runs before the `init` line. */
function isHook(line: Rec): boolean {
  return line.at('type') === 'system' && line.text('subtype')?.startsWith('hook_') === true
}

function isInit(line: Rec): boolean {
  return line.at('type') === 'system' && line.at('subtype') === 'init'
}

/** Whether a line is of another session than the one that began last. */
function isOfOther(line: Rec, { session }: Run): boolean {
  return session !== undefined && (line.text('session_id') ?? session) !== session
}

/** The call of the subagent that a line is about; the session, if it is another one. */
function parentOf(line: Rec, run: Run): string | undefined {
  return line.text('parent_tool_use_id') ?? (isOfOther(line, run) ? line.text('session_id') : undefined)
}

/** The facts about the run in an `init` line. */
function factsOf(line: Rec): RunFacts {
  if (!isInit(line)) return {}
  return {
    model: line.text('model'),
    cwd: line.text('cwd'),
    engine_version: line.text('claude_code_version qwen_code_version'),
  }
}

function retryReason(line: Rec): string {
  const attempt = line.number('attempt')
  const most = line.number('max_retries')
  const which = attempt === undefined ? '' : `: attempt ${attempt}${most === undefined ? '' : ` of ${most}`}`
  const why = [line.at('error_status'), line.at('error')]
    .filter((word) => typeof word === 'number' || typeof word === 'string')
    .join(' ')
  return `the engine asks the model again${which}${why === '' ? '' : ` (${why})`}`
}

function readAnswer(line: Rec, say: Say, run: Run): boolean {
  const message = line.record('message')
  if (!message) return false
  const content = message.at('content')
  const speaker = { parent: parentOf(line, run), incomplete: line.at('aborted') === true }
  if (message.at('model') === '<synthetic>') {
    // The engine writes in place of the model, mostly because a request failed. `result` says whether the
    // run failed; what failed in a subagent belongs to its call.
    const words = wordsOf(content)
    if (speaker.parent === undefined) run.engineMessage = words
    const message = words || errorText(line.at('error'))
    say.error(message, speaker.parent === undefined ? 'error' : 'warning')
    return true
  }
  run.worked = true
  if (speaker.parent === undefined) say.settles()
  const id = message.text('id') ?? line.text('uuid') ?? 'message'
  const tokens = claudeTokens(message.at('usage'))
  const words = wordsOf(content)
  // Qwen Code says so of an answer without text, whose tokens it counts.
  const wrote = run.sums && words.startsWith('[API Error: Model stream ended ') ? 0 : tokens?.output
  const error = speaker.parent === undefined ? errorAnswer(words, wrote) : undefined
  // Qwen Code prints the error of a request as the model's words.
  if (error !== undefined && blocksOf(content).length === 1) {
    const open = run.streaming.text.take(speakerOf(undefined, run))
    if (open !== undefined) say.message(open, undefined, { withdrawn: true })
    run.engineMessage = words
    say.error(error, 'error')
    return true
  }
  const more = message.has('id') ? run.added(id, tokens) : tokens
  if (more) {
    run.spent.add(more)
    // `result` counts the turn; until then, this is what is known.
    say.status('usage', { turn_tokens: run.spent.sum() })
  }
  // The beginning of its pieces may have had no id.
  const repeated = run.stopped.take(id) ?? run.stopped.take('message') ?? []
  for (const block of blocksOf(content)) {
    const type = block.at('type')
    if (repeated.includes(type)) continue
    const pieces = type === 'text' || type === 'thinking' ? run.streaming[type] : undefined
    const open = pieces?.take(speakerOf(speaker.parent, run))
    if (type === 'text') answers(speaker.parent, run)
    if (open === undefined) run.blocks.say(id, block, say, speaker)
    else if (type === 'text') say.message(open, block.text('text') ?? '', speaker)
    else say.reasoning(open, block.text('thinking') ?? '', { parent: speaker.parent })
  }
  if (line.has('supersedes')) say.status('superseded', { reason: line.list('supersedes').join(' ') })
  if (speaker.parent === undefined) limit(message.text('stop_reason'), say, run)
  return true
}

/** Why the model stopped: a limit of tokens means that its answer was cut. */
function limit(reason: string | undefined, say: Say, run: Run): void {
  const limited = reason === 'max_tokens' || reason === 'model_context_window_exceeded'
  if (limited && !run.limited) say.turn('cut', reason)
  if (reason !== undefined) run.limited = limited
}

/** The run itself has said something: its `result` repeats that. */
function answers(parent: string | undefined, run: Run): void {
  run.answered ||= !run.extra && parent === undefined
}

function readUser(line: Rec, say: Say, run: Run): void {
  const content = line.at('message.content')
  const parent = parentOf(line, run)
  const { prompt } = promptOf(content)
  // The prompt of a subagent comes from the agent, and a synthetic one from the engine. Qwen Code repeats no
  // prompt: what it prints here are its notices ("Background agent … completed.").
  const isTyped = parent === undefined && line.at('isSynthetic') !== true && !run.sums
  if (prompt !== undefined && isTyped) say.user(prompt)
  for (const { values } of line.records('tool_result_meta'))
    if (notAllowed.test(String(values['non_execution_kind']))) run.denied.set(String(values['id']), true)
  for (const block of blocksOf(content).filter(isResult)) {
    const id = block.text('tool_use_id') ?? ''
    if (say.settles({ call: id })) run.denied.set(id, true)
    sayResult(block, line.record('tool_use_result'), run.blocks, say, parent, run.denied.get(id))
    run.ended.set(id, true)
  }
}

/** Why a call was not executed: `permission-rule`, `user-rejected`; not `cancelled`. */
const notAllowed = /^permission|reject|denied/

/** The calls of the turn that were denied: those whose result did not say so are told here, once. */
function sayDenials(line: Rec, say: Say, run: Run): void {
  for (const denial of line.records('permission_denials')) {
    const id = denial.text('tool_use_id') ?? say.newId()
    const name = denial.text('tool_name') ?? 'tool'
    if (!run.ended.get(id))
      run.blocks.end({ id, name, input: denial.at('tool_input'), denied: true }, true, say)
    else if (!run.denied.get(id)) say.status('permission_denied', { reason: `${name} ${id}` })
    run.ended.set(id, true)
    run.denied.set(id, true)
  }
}

/** Pieces of a message, a thought, an input. All of it comes again in the `assistant` line: that is final. */
function readPiece(line: Rec, say: Say, run: Run): void {
  const parent = parentOf(line, run)
  const speaker = speakerOf(parent, run)
  switch (line.at('event.type')) {
    case 'message_start': {
      // It was broken off (the model is asked again), or its end was lost: this one replaces it.
      closePieces(speaker, say, run, { incomplete: true })
      run.messageIds.set(speaker, line.text('event.message.id') ?? 'message')
      return
    }
    case 'content_block_start': {
      const block = line.record('event.content_block')
      const id = block && USES.has(block.at('type')) ? block.text('id') : undefined
      const name = block?.text('name') ?? 'tool'
      const index = `${line.at('event.index')} ${speaker}`
      if (id === undefined) run.inputs.take(index)
      else run.inputs.set(index, { id, name })
      return
    }
    case 'content_block_delta': {
      readDelta(line, parent, say, run)
      return
    }
    case 'message_delta': {
      if (parent === undefined) limit(line.text('event.delta.stop_reason'), say, run)
      return
    }
    case 'message_stop': {
      const said = closePieces(speaker, say, run)
      if (said.includes('text')) answers(parent, run)
      if (said.length > 0) run.stopped.set(run.messageIds.get(speaker) ?? 'message', said)
    }
  }
}

function readDelta(line: Rec, parent: string | undefined, say: Say, run: Run): void {
  const speaker = speakerOf(parent, run)
  switch (line.at('event.delta.type')) {
    case 'text_delta': {
      const part = line.text('event.delta.text')
      if (part !== undefined) say.piece('message', openOf('text', speaker, say, run), part, { parent })
      return
    }
    case 'thinking_delta': {
      const part = line.text('event.delta.thinking')
      if (part) say.piece('reasoning', openOf('thinking', speaker, say, run), part, { parent })
      return
    }
    case 'input_json_delta': {
      const call = run.inputs.get(`${line.at('event.index')} ${speaker}`)
      if (call) say.call('input', { ...call, parent, input: line.text('event.delta.partial_json') ?? '' })
    }
  }
}

/** The message or thought that the pieces of a speaker belong to. */
function openOf(kind: 'text' | 'thinking', speaker: string, say: Say, run: Run): string {
  const streaming = run.streaming[kind]
  const known = streaming.get(speaker)
  if (known !== undefined) return known
  const open = run.blocks.nextId(run.messageIds.get(speaker) ?? 'message')
  for (const forgotten of streaming.set(speaker, open)) endPieces[kind](say, forgotten, { incomplete: true })
  return open
}

/** Ends what a speaker has said in pieces. Returns the kinds of it. */
function closePieces(speaker: string, say: Say, { streaming }: Run, more?: MessageFacts) {
  return (['thinking', 'text'] as const).filter((kind) => {
    const open = streaming[kind].take(speaker)
    if (open !== undefined) endPieces[kind](say, open, more)
    return open !== undefined
  })
}

const endPieces = {
  text: (say: Say, id: string, more?: MessageFacts) => say.message(id, undefined, more),
  thinking: (say: Say, id: string, more?: MessageFacts) => say.reasoning(id, undefined, more),
}

/** The main agent, or a subagent's call; a separate speaker for lines that only the PTY has. */
function speakerOf(parent: string | undefined, { extra }: Run): string {
  return extra ? `pty ${parent ?? ''}` : (parent ?? '')
}

/**
 * Whether a `result` is not that of the turn: one of another session, or of a subagent that failed in Qwen
 * Code, which only lacks what every turn has, a duration and turns of its own.
 */
function isForeign(line: Rec, run: Run): boolean {
  if (parentOf(line, run) !== undefined) return true
  return run.sums && run.worked && line.at('duration_ms') === 0 && line.at('num_turns') === 0
}

function readResult(line: Rec, say: Say, run: Run): void {
  if (isForeign(line, run)) {
    say.error(errorIn(line) ?? line.text('result') ?? 'a subagent failed', 'warning')
    return
  }
  const subtype = line.text('subtype')
  const answer = line.text('result')
  const usage = line.at('usage')
  const stats = line.at('stats')
  // `usage` counts the main agent alone; the sum of the models has subagents, too, and what the engine asks
  // itself.
  const own = statsTokens(stats) ?? claudeTokens(usage) ?? run.spent.sum()
  const models = modelTokens(line.record('modelUsage'))
  const tokens = models ? run.models.soFar(models) : own
  const excused = run.engineMessage !== undefined && answer === run.engineMessage
  const error = run.answered ? undefined : errorAnswer(answer ?? '', own?.output)
  const told =
    (subtype ?? 'success') !== 'success' ||
    line.isSet('is_error') ||
    line.text('terminal_reason')?.startsWith('aborted') === true ||
    errorIn(line) !== undefined
  const failed = told || excused || error !== undefined
  // One of the two says how it ended. Without both of them, its words may be anything.
  const good = !failed && (subtype !== undefined || line.at('is_error') === false)
  say.turnOver(failed ? 'failed' : 'well')
  // It repeats the last answer, and is the answer only if nothing else was said (json mode); or an error.
  if (!failed && !run.answered && answer) say.message(undefined, answer)
  sayDenials(line, say, run)
  say.status('result', {
    reason: subtype ?? 'unknown',
    usage,
    stats,
    structured_payload: failed ? undefined : (line.at('structured_output') ?? undefined),
    [run.sums ? 'tokens_so_far' : 'tokens']: tokens,
    // The sum of this process, over all its turns.
    cost_so_far: costOf(line.at('total_cost_usd')),
    fresh: true,
  })
  if (!failed) limit(line.text('stop_reason'), say, run)
  if (good || subtype === 'success') say.ended('result success', failed ? undefined : answer)
  if (failed) say.error(failure(line, subtype), 'fatal', { verdict: true, code: line.at('terminal_reason') })
  run.answered = run.limited = false
  run.engineMessage = undefined
  run.spent = tokenCounter()
}

/** Why a run failed, in the words of its `result`. */
function failure(line: Rec, subtype?: string): string {
  const words = errorIn(line) || line.text('result')
  if (words) return words
  if (subtype !== undefined && subtype !== 'success') return subtype
  const status = line.number('api_error_status')
  const reason = line.text('terminal_reason')
  if (status === undefined) return reason ?? 'the run failed'
  return `the API answered with status ${status}${reason === undefined ? '' : `: ${reason}`}`
}

function errorIn(line: Rec): string | undefined {
  return line.text('error.message error') ?? (line.list('errors').map(String).join('; ') || undefined)
}
