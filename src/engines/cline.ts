import { costOf } from '../events/cost.ts'
import { asText, type Engine, isLenient, isRecord, type Say, type ToolTable } from '../events/engine.ts'
import { fits, Rec } from '../events/record.ts'
import { calls, usualDenial } from './calls.ts'
import type { Program } from './command-line.ts'
import { contentBlocks, wordsOf } from './content-blocks.ts'
import { errorText } from './error-text.ts'
import { rows, table } from './record-table.ts'
import { type Turns, turns } from './session-turns.ts'
import { tokensAt } from './token-parts.ts'

const tools: ToolTable = {
  read: 'read_files read_file',
  edit: 'editor apply_patch write_to_file replace_in_file',
  search: 'search_codebase search_files list_files list_code_definition_names',
  execute: 'run_commands execute_command',
  think: 'spawn_agent',
  fetch: 'fetch_web_content web_fetch',
}

function newRun() {
  return {
    begun: calls(),
    /** The message whose pieces are arriving. */
    open: undefined as string | undefined,
    /** The thought whose pieces are arriving. */
    thought: undefined as string | undefined,
    spoke: false,
    failed: false,
    /** Requests of this run have reported their tokens: the sum at its end repeats them. */
    counted: false,
  }
}

type Run = ReturnType<typeof newRun>

/** Other programs log errors, too, but with more fields. */
const ERROR = 'message:text #3'

export const clineProgram: Program = {
  names: 'cline',
  records: '--json --acp',
  add: '--json',
}

/** Cline CLI (`cline --json`). Texts come four times, without ids; an interrupted run exits with 0. */
export const cline = /* @__PURE__ */ table<Run>({
  name: 'cline',
  parser: 'cline_ndjson',
  about: 'cline --json; 3.0',
  tools,
  denials: usualDenial,
  // Every line has a time, and in addition something that only Cline writes.
  shape: 'ts:text',
  later: 'ts:text type:text',
  fields: 'ts type',
  state: newRun,
  on: {
    hook_event: {
      shape: 'hookEventName:text agentId:text',
      least: 'hookEventName:text, taskId:text',
      fields: 'hookEventName:text agentId:text taskId:text parentAgentId:text',
      read(line, say, run) {
        // A subagent has a task of its own.
        if (line.text('parentAgentId') !== undefined) return
        say.session(line.at('taskId'))
        if (line.at('hookEventName') !== 'agent_start') return
        run.failed = run.spoke = false
        say.turn('begins')
        say.status('turn_started')
      },
    },
    agent_event: {
      shape: 'event.type:text',
      least: 'event:record',
      fields: 'event:record',
      read: (line, say, run) => events.read(line.record('event') ?? new Rec({}), say, run),
    },
    run_start: {
      shape: 'providerId:text',
      read: (line, say) => say.status('run_start', { model: line.text('modelId') }),
    },
    run_result: {
      shape: 'finishReason:text iterations:number',
      least: 'finishReason|text:text',
      fields: 'finishReason:text iterations usage:record aggregateUsage durationMs text:text model:record',
      read: readResult,
    },
    run_abort_requested: {
      shape: 'reason:text',
      read: (line, say, run) => fail(`aborted: ${line.at('reason')}`, say, run),
    },
    error: {
      shape: ERROR,
      least: 'message:text #2',
      common: true,
      read(line, say, run) {
        if (fits(line.values, ERROR) || fits(line.values, 'message:text #2'))
          return fail(line.text('message') ?? '', say, run)
        say.unknownType('error')
        return false
      },
    },
  },
})

const events = /* @__PURE__ */ rows<Run>({
  called: 'event',
  fields: 'type',
  quiet: 'content_update',
  on: {
    iteration_start: {
      fields: 'iteration',
      read(_event, say, run) {
        leave(say, run)
        say.status('step_start')
      },
    },
    iteration_end: {
      fields: 'iteration hadToolCalls toolCallCount',
      read(_event, say, run) {
        leave(say, run)
        say.status('step_finish')
      },
    },
    'content_start, content_end': (event, say, run) => contents.read(event, say, run),
    usage(event, say, run) {
      run.counted = true
      // The counts of this request and of the run so far.
      const { type, ...usage } = event.values
      const cost_so_far = costOf(usage['totalCost'])
      say.status('usage', { usage, tokens: tokensIn(usage), cost_so_far, fresh: true })
    },
    error: {
      fields: 'error:text|record errorClass recoverable:flag iteration',
      read(event, say, run) {
        const message = errorText(event.at('error'))
        if (event.at('recoverable') === true) say.error(message, 'warning', { retryable: true })
        else fail(message, say, run)
      },
    },
    done: {
      fields: 'reason:text text iterations usage',
      read(event, say) {
        say.status('done', { reason: event.text('reason') ?? 'unknown', usage: event.at('usage') })
      },
    },
  },
})

const contents = /* @__PURE__ */ rows<Run>({
  by: 'contentType',
  called: 'content',
  fields: 'type contentType',
  on: {
    text: {
      fields: 'text:text accumulated',
      read(event, say, run) {
        const words = event.text('text')
        // The pieces are `start` records, each with the next words.
        if (isEnd(event)) {
          run.spoke ||= words !== undefined || run.open !== undefined
          say.message(run.open, words)
          run.open = undefined
        } else if (words !== undefined) {
          run.open ??= say.newId()
          say.piece('message', run.open, words)
        }
      },
    },
    reasoning: {
      fields: 'reasoning:text text:text redacted accumulated',
      read(event, say, run) {
        const words = event.text('reasoning text') ?? ''
        if (isEnd(event)) {
          say.reasoning(run.thought, words)
          run.thought = undefined
        } else if (words !== '') {
          run.thought ??= say.newId('reasoning')
          say.piece('reasoning', run.thought, words)
        }
      },
    },
    tool: {
      fields: 'toolName:text toolCallId:text input output error durationMs:number',
      read(event, say, { begun }) {
        const call = { id: event.text('toolCallId') ?? '', name: event.text('toolName') ?? 'tool' }
        if (!isEnd(event)) return begun.start({ ...call, input: event.at('input') }, say)
        const output = event.at('output')
        const failures = failuresIn({ error: event.at('error') }, output)
        const ended = {
          ...call,
          output,
          error: failures.join('\n'),
          duration_ms: event.duration('durationMs'),
        }
        begun.end(ended, failures.length > 0, say)
      },
    },
  },
})

function isEnd(event: Rec): boolean {
  return event.at('type') === 'content_end'
}

function readResult(line: Rec, say: Say, run: Run): void {
  leave(say, run)
  const reason = line.text('finishReason')
  const answer = line.text('text') ?? ''
  const usage = line.at('usage')
  // It repeats the last answer, or the error.
  const limited = reason === 'length' || reason === 'max_tokens'
  if ((reason === 'completed' || limited) && !run.spoke && answer !== '') say.message(undefined, answer)
  const tokens = run.counted ? undefined : tokensIn(usage)
  run.counted = false
  const cost_so_far = costOf(line.at('usage.totalCost'))
  const model = line.text('model.id')
  say.status('result', { reason: reason ?? 'unknown', usage, tokens, cost_so_far, fresh: true, model })
  if (reason === 'completed') say.ended('run_result completed', line.text('text'))
  else if (limited) say.turn('cut', reason)
  else if (reason !== undefined)
    fail(reason === 'error' && answer !== '' ? answer : `the run ended: ${reason}`, say, run, true)
}

function fail(message: string, say: Say, run: Run, verdict = false): void {
  leave(say, run)
  if (!run.failed) say.error(message, 'fatal', { verdict })
  run.failed = true
}

/** A message or a thought without an end was cut off. */
function leave(say: Say, run: Run): void {
  if (run.thought !== undefined) say.reasoning(run.thought, undefined, { incomplete: true })
  run.thought = undefined
  if (run.open !== undefined) say.message(run.open, undefined, { incomplete: true })
  run.open = undefined
}

const DOCUMENT = 'sessionId:text updated_at:text agent:text messages:list'
/** Gemini's document has a hash of its project and a start. */
const LEAST = 'messages:list !type !projectHash !startTime'

/**
 * Cline's session files (`data/sessions/<id>/<id>.messages.json` in its home): one document, rewritten each
 * time. It has no end; the manifest next to it does. Its session id is not the one on stdout.
 */
export const clineSession: Engine = {
  name: 'cline',
  parser: 'cline_session',
  growing: true,
  tools,
  denials: usualDenial,
  cut: { stdout: 'documents' },
  about: 'session file: sessions/*/*.messages.json; 3.0',
  shape: ({ value }) => fits(value, DOCUMENT),
  open: (limits) => ({
    read(frame, say) {
      const document = Rec.of(frame.value, isLenient(frame, limits) ? LEAST : DOCUMENT)
      if (document) readDocument(document, say)
      return document !== undefined
    },
  }),
}

interface Session {
  readonly turn: Turns
  readonly blocks: ReturnType<typeof contentBlocks>
}

function readDocument(document: Rec, say: Say): void {
  say.fields(
    document.values,
    'version updated_at agent sessionId origin:record messages system_prompt origin.version:text',
  )
  const messages = document.records('messages')
  const named = messages.find((message) => message.text('modelInfo.id') !== undefined)
  say.session(document.at('sessionId'), {
    model: named?.text('modelInfo.id'),
    engine_version: document.text('origin.version'),
  })
  const state = { turn: turns(), blocks: contentBlocks() }
  for (const message of messages) {
    const role = message.at('role')
    if (role === 'assistant') readAnswer(message, say, state)
    else if (role === 'user') readUser(message, say, state)
    else say.unknownType(`role ${String(role)}`)
  }
}

function readUser(message: Rec, say: Say, { turn, blocks }: Session): void {
  const content = message.records('content')
  const words = content.flatMap((block) => (block.at('type') === 'text' && block.text('text')) || [])
  for (const own of words.flatMap(userInput)) say.user(own)
  if (words.length > 0) turn.begin(say)
  for (const block of content) {
    if (block.at('type') !== 'tool_result') continue
    const output = block.at('content')
    const failures = failuresIn({}, output)
    const error = failures.join('\n') || asText(output) || 'the tool failed'
    const call = { id: block.text('tool_use_id') ?? '', name: block.text('name'), output, error }
    blocks.end(call, failures.length > 0 || block.isSet('is_error'), say)
  }
}

function readAnswer(message: Rec, say: Say, { turn, blocks }: Session): void {
  if (message.at('metadata.displayRole') === 'error') {
    turn.fail(wordsOf(message.at('content')), say)
    return
  }
  turn.goOn(say)
  for (const block of message.records('content')) blocks.say(message.text('id') ?? 'message', block, say)
  const usage = message.record('metrics')?.values
  if (usage) say.status('step_finish', { usage, tokens: tokensIn(usage) })
}

const END = '</user_input>'

/** The user's text in Cline's tag, `<user_input mode="act">`. Text without it is Cline's own. */
function userInput(words: string): string[] {
  const from = words.startsWith('<user_input') ? words.indexOf('>') + 1 : 0
  return from > 0 && words.endsWith(END) ? [words.slice(from, -END.length)] : []
}

/** The input includes cached tokens. */
const tokensIn = /* @__PURE__ */ tokensAt(
  {
    input: 'inputTokens',
    output: 'outputTokens',
    cached: 'cacheReadTokens',
    cache_write: 'cacheWriteTokens',
  },
  { cache: 'within' },
)

/** The failures in a call: its own, or those of each command or file it was about. */
function failuresIn(call: { readonly error?: unknown }, output: unknown): string[] {
  return [call, ...(Array.isArray(output) ? output : [output])].filter(isRecord).flatMap((part) => {
    if (asText(part['error'])) return String(part['error'])
    return part['success'] === false ? (asText(part['result']) ?? 'it failed') : []
  })
}
