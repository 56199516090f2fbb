import { costOf } from '../events/cost.ts'
import type { CallFacts, MessageFacts, Say, ToolTable } from '../events/engine.ts'
import { memory } from '../events/memory.ts'
import { Rec } from '../events/record.ts'
import { calls, unifiedDiff, usualDenial } from './calls.ts'
import type { Program } from './command-line.ts'
import { blocksOf, contentBlocks, wordsOf } from './content-blocks.ts'
import { rows, table } from './record-table.ts'
import { turns } from './session-turns.ts'
import { tokensAt } from './token-parts.ts'

const tools: ToolTable = { read: 'read', edit: 'edit write', search: 'grep find ls', execute: 'bash' }

function newRun() {
  return {
    begun: calls(),
    /** The messages and thoughts whose pieces are arriving, by kind and index in the content. */
    open: memory<string>((id) => id.length),
    /** The calls whose input is arriving. */
    inputs: memory<{ readonly id: string; readonly name: string }>(({ id, name }) => id.length + name.length),
    /** Why the model stopped, and its error: the run failed only if no retry follows. */
    stop: undefined as string | undefined,
    failure: undefined as string | undefined,
    model: undefined as string | undefined,
    /** The answer of this step was told: the end of the step repeats it. */
    answered: false,
  }
}

type Run = ReturnType<typeof newRun>

/** The events of Anthropic's API have such names, too, but their messages have no time. */
const MESSAGE = 'message.role:text message.timestamp:number'
const CALL = 'toolCallId:text toolName:text'
const SESSION = 'version:number id:text cwd'

export const piProgram: Program = {
  names: 'pi @earendil-works/pi-coding-agent @mariozechner/pi-coding-agent',
  records: '--mode=json|rpc',
  add: '--mode json',
  command: {
    flags:
      '-p --print --no-tools -nt --no-builtin-tools -nbt --no-extensions -ne --no-skills -ns --no-prompt-templates -np --no-themes --no-context-files -nc --verbose --offline --approve -a --no-approve -na',
    values:
      '--mode --provider --model --models --api-key --system-prompt --append-system-prompt --session-dir --tools -t --exclude-tools -xt --thinking --extension -e --skill --prompt-template --theme --name -n',
    session: '--session --session-id -c --continue -r --resume --fork',
    alone: '--no-session',
    next: (options, session) => [
      ...options.filter((word) => word !== '-p' && word !== '--print'),
      '--session',
      session,
      '-p',
    ],
  },
}

/** pi (`pi --mode json`). Texts come up to five times, without ids; a failed run exits with 0. */
export const pi = /* @__PURE__ */ table<Run>({
  name: 'pi',
  parser: 'pi_ndjson',
  about: 'pi --mode json; 0.87, 0.73',
  tools,
  denials: usualDenial,
  later: 'type:text',
  fields: 'type',
  state: newRun,
  quiet:
    'entry_appended agent_settled queue_update session_info_changed thinking_level_changed ' +
    'bash_execution_update summarization_retry_scheduled summarization_retry_attempt_start ' +
    'summarization_retry_finished',
  on: {
    // The first line is the same in a session file: the lines after it decide.
    session: {
      shared: true,
      shape: SESSION,
      least: 'id:text',
      fields: 'version id timestamp cwd:text parentSession',
      read: (line, say) => say.session(line.at('id'), { cwd: line.text('cwd') }),
    },
    agent_start: {
      fields: '',
      read(_line, say, run) {
        run.stop = undefined
        say.turn('begins')
        say.status('turn_started')
      },
    },
    turn_start: { fields: '', read: (_line, say) => say.status('step_start') },
    message_start: {
      shape: MESSAGE,
      least: 'message:record',
      fields: 'message:record',
      read(line, say, run) {
        run.open = memory((id) => id.length)
        run.inputs = memory(({ id, name }) => id.length + name.length)
        const message = line.record('message')
        const model = message?.text('model')
        if (message?.at('role') === 'user') sayPrompt(message, say)
        if (message?.at('role') !== 'assistant') return
        if (model !== undefined && model !== run.model) say.status('model', { model })
        run.model = model
      },
    },
    message_update: {
      shape: 'assistantMessageEvent:record',
      least: 'assistantMessageEvent:record',
      fields: 'assistantMessageEvent usage message',
      read: readPiece,
    },
    message_end: {
      shape: MESSAGE,
      least: 'message:record',
      fields: 'message:record',
      read(line, say, run) {
        if (line.at('message.role') === 'assistant') readAnswer(line.record('message')!, say, run)
      },
    },
    turn_end: {
      fields: 'message:record toolResults',
      read(line, say, run) {
        const message = line.record('message')
        if (message?.at('role') === 'assistant' && !run.answered)
          readAnswer(message, say, run, blocksOf(message.at('content')))
        run.answered = false
        // Pieces of an answer whose whole no record has.
        for (const [, id] of run.open.entries()) close(id, say)
        run.open = memory((id) => id.length)
        const reason = message?.text('stopReason') ?? 'unknown'
        say.status('step_finish', { reason, usage: message?.at('usage') })
      },
    },
    tool_execution_start: {
      shape: CALL,
      fields: 'toolCallId:text toolName:text args',
      read: (line, say, { begun }) => begun.start({ ...callOf(line), input: line.at('args') }, say),
    },
    tool_execution_update: { shape: CALL, read: () => true },
    tool_execution_end: {
      shape: CALL,
      fields: 'toolCallId:text toolName:text result isError:flag durationMs:number',
      read: readToolEnd,
    },
    agent_end: {
      fields: 'messages willRetry:flag',
      read(line, say, run) {
        const retries = line.flag('willRetry')
        const good = run.failure === undefined && run.stop !== undefined && run.stop !== 'length'
        if (good && !retries) say.ended('agent_end')
        // 0.73 does not report whether it retries.
        if (retries === false) fail('fatal', say, run)
      },
    },
    auto_retry_start: {
      fields: 'attempt maxAttempts delayMs errorMessage',
      read(line, say, run) {
        fail('warning', say, run)
        say.status('retry', { reason: `attempt ${line.at('attempt')} of ${line.at('maxAttempts')}` })
      },
    },
    auto_retry_end: {
      fields: 'success:flag attempt finalError',
      read(line, say, run) {
        if (line.at('success') !== false) return
        // Without an answer nothing else says why.
        if (run.stop === undefined) run.failure ??= line.text('finalError')
        fail('fatal', say, run)
      },
    },
    'compaction_start, compaction_end, auto_compaction_start, auto_compaction_end': (line, say) =>
      say.status(line.text('type')!, { reason: line.text('reason') ?? 'unknown' }),
  },
  end: (say, run) => fail('fatal', say, run),
})

function fail(severity: 'warning' | 'fatal', say: Say, run: Run): void {
  const more = severity === 'warning' ? { retryable: true } : {}
  if (run.failure !== undefined) say.error(run.failure, severity, more)
  run.failure = undefined
}

function readPiece(line: Rec, say: Say, { open, inputs }: Run): void {
  const event = line.record('assistantMessageEvent')
  const part = event?.text('delta')
  const at = event?.number('contentIndex')
  const index = String(at)
  const kind = event?.at('type')
  if (kind === 'toolcall_start') {
    // 0.73 has the call only in the message so far.
    const call = Rec.of(event?.list('partial.content')[at ?? 0])
    const id = event?.text('id') ?? call?.text('id')
    const name = event?.text('toolName') ?? call?.text('name') ?? 'tool'
    if (id !== undefined) inputs.set(index, { id, name })
  }
  if (part === undefined) return
  const call = kind === 'toolcall_delta' ? inputs.get(index) : undefined
  if (call) say.call('input', { ...call, input: part })
  const isThought = kind === 'thinking_delta' && part !== ''
  if (!isThought && kind !== 'text_delta') return
  const type = isThought ? 'thinking' : 'text'
  // A piece without an index belongs to what is open, and what has none yet to the first piece with one.
  const last = at === undefined && [...open.entries()].findLast(([name]) => name.startsWith(type))?.[0]
  const key = last || `${type} ${index}`
  let id = open.get(key)
  if (id === undefined) {
    id = open.take(`${type} undefined`) ?? say.newId(isThought ? 'reasoning' : 'message')
    for (const forgotten of open.set(key, id)) close(forgotten, say, { incomplete: true })
  }
  say.piece(isThought ? 'reasoning' : 'message', id, part)
}

/** Ends the message or the thought that has this id. */
function close(id: string, say: Say, more?: MessageFacts): void {
  say.reasoning(id, undefined, more)
  say.message(id, undefined, more)
}

const messageFields =
  'role content:list api provider model:text usage stopReason=stop|length|toolUse|error|aborted rawStopReason ' +
  'timestamp responseId responseModel errorMessage:text diagnostics durationMs thinkingLevel'

function readAnswer(message: Rec, say: Say, run: Run, content = message.records('content')): void {
  say.fields(message.values, messageFields)
  const usage = message.at('usage')
  const tokens = tokensIn(usage)
  // The step ends with its tools: a run that is killed before that has still used the tokens.
  if (tokens) say.status('usage', { usage, tokens, cost: costIn(usage) })
  run.stop = message.text('stopReason')
  run.answered = true
  const incomplete = isBroken(message)
  if (incomplete) run.failure = message.text('errorMessage') ?? `the model stopped: ${run.stop}`
  for (const [index, block] of content.entries()) {
    const words = block.text('text')
    const type = block.text('type')
    const id = run.open.take(`${type} ${index}`) ?? run.open.take(`${type} undefined`)
    const thought = block.text('thinking')
    if (type === 'thinking') {
      if (thought !== undefined || id !== undefined) say.reasoning(id, thought)
    } else if (type !== 'text') continue
    else if (words === undefined && block.at('text')) say.unknownType('content text')
    else if (id !== undefined || words !== '') say.message(id, words, { incomplete })
  }
  if (run.stop === 'length') say.turn('cut', run.stop)
}

function readToolEnd(line: Rec, say: Say, { begun }: Run): void {
  begun.end(...endOf(line, line.record('result')), say, { fileDiff: patchIn(line.record('result')) })
}

/** How a call ended, and whether it failed: a line of stdout with its `result`, or a saved message. */
function endOf(line: Rec, result: Rec | undefined): readonly [CallFacts, boolean] {
  const call = callOf(line)
  const failed = line.isSet('isError')
  const content = result ? result.at('content') : line.at('result')
  // A content that has only text.
  const isText = result?.list('content').every((block) => Rec.of(block)?.text('text') !== undefined)
  const output = isText && Array.isArray(content) ? wordsOf(content) : content
  const words = typeof output === 'string' ? output : undefined
  const told = result?.number('structuredContent.exit_code')
  const exit_code = call.name === 'bash' ? (told ?? (failed ? exitCode(words) : undefined)) : undefined
  return [
    { ...call, output, exit_code, error: words, duration_ms: line.duration('durationMs') },
    failed || (exit_code ?? 0) !== 0,
  ]
}

/** pi writes the exit code after the output of a failed command. */
function exitCode(output = ''): number | undefined {
  const mark = 'Command exited with code '
  const at = output.lastIndexOf(mark)
  const code = at < 0 ? Number.NaN : Number(output.slice(at + mark.length))
  return Number.isInteger(code) ? code : undefined
}

function newFile() {
  return { turn: turns(), blocks: contentBlocks() }
}

type File = ReturnType<typeof newFile>

const ENTRY = 'id:text timestamp:text parentId'

/**
 * pi's session files (`agent/sessions/--<dir>--/*.jsonl` in its home): entries of a tree. The first line is
 * on stdout too, so the second one distinguishes the two. Each answer says how it ended (`stopReason`).
 */
export const piSession = /* @__PURE__ */ table<File>({
  name: 'pi',
  parser: 'pi_session',
  growing: true,
  tools,
  denials: usualDenial,
  cut: { stdout: 'records' },
  about: 'session file: sessions/*/*.jsonl; 1.5, 0.87, 0.73',
  later: ENTRY,
  state: newFile,
  on: {
    session: {
      shared: true,
      shape: 'version:number',
      least: 'id:text',
      read: (line, say) => say.session(line.at('id'), { cwd: line.text('cwd') }),
    },
    message: {
      shape: 'id:text timestamp:text parentId message:record',
      least: 'message:record',
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
    'thinking_level_change, context_edit, branch_summary, custom, custom_message, session_info, label, usage':
      {
        shape: ENTRY,
        read: () => true,
      },
  },
})

const messages = /* @__PURE__ */ rows<File>({
  by: 'message.role',
  of: 'message',
  called: 'role',
  fields: '*',
  quiet: 'system bashExecution custom',
  on: {
    user: {
      fields: 'content:text|list',
      read(message, say, { turn }) {
        sayPrompt(message, say)
        turn.begin(say)
      },
    },
    assistant: { fields: messageFields, read: readSaved },
    toolResult: {
      fields: 'toolCallId:text toolName:text isError:flag',
      read: (message, say, { blocks }) =>
        blocks.end(...endOf(message, message), say, { fileDiff: patchIn(message) }),
    },
  },
})

function readSaved(message: Rec, say: Say, { turn, blocks }: File, line: Rec): void {
  const id = line.text('id') ?? ''
  const reason = message.text('stopReason')
  const incomplete = isBroken(message)
  const usage = message.at('usage')
  turn.goOn(say)
  for (const block of message.records('content')) blocks.say(id, block, say, { incomplete })
  say.status('step_finish', {
    reason: reason ?? 'unknown',
    usage,
    tokens: tokensIn(usage),
    cost: costIn(usage),
  })
  if (reason === 'stop') turn.end('stop', say)
  if (reason === 'length') say.turn('cut', 'length')
  // The next attempt, if there is one, follows a failed one.
  if (incomplete) turn.fail(message.text('errorMessage') ?? `the answer was ${reason}`, say)
}

/** The answer was cut off; a retry may follow. */
function isBroken(message: Rec): boolean {
  const reason = message.at('stopReason')
  return reason === 'error' || reason === 'aborted'
}

function callOf(line: Rec): { readonly id: string; readonly name: string } {
  return { id: line.text('toolCallId') ?? '', name: line.text('toolName') ?? 'tool' }
}

/** The input excludes cached tokens; the output includes reasoning, as the total shows. */
const tokensIn = /* @__PURE__ */ tokensAt(
  {
    ...{ input: 'input', output: 'output', reasoning: 'reasoning', total: 'totalTokens' },
    ...{ cached: 'cacheRead', cache_write: 'cacheWrite' },
  },
  { cache: 'apart' },
)

/** What the request cost. An answer that was cut off has no tokens, and its cost is not known either. */
function costIn(usage: unknown) {
  return tokensIn(usage) && costOf(Rec.of(usage)?.at('cost.total'))
}

/** The diff of an edit. The field `diff` next to it is a drawing with line numbers. */
function patchIn(result: Rec | undefined): string | undefined {
  return unifiedDiff(result?.at('details.patch'))
}

function sayPrompt(message: Rec, say: Say): void {
  const words = wordsOf(message.at('content'))
  if (words !== '') say.user(words)
}
