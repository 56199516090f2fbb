import type { CallFacts, Engine, Say, ToolTable } from '../events/engine.ts'
import { memory } from '../events/memory.ts'
import { fits, type Rec } from '../events/record.ts'
import { type Calls, calls, type Shown, unifiedDiff } from './calls.ts'
import type { Program } from './command-line.ts'
import { errorText } from './error-text.ts'
import { OpenPieces } from './open-pieces.ts'
import { table } from './record-table.ts'
import { turns } from './session-turns.ts'
import { tokensAt } from './token-parts.ts'

const tools: ToolTable = {
  read: 'view show_file',
  edit: 'create edit str_replace str_replace_editor insert apply_patch',
  search: 'grep rg glob web_search',
  execute:
    'bash write_bash read_bash stop_bash list_bash powershell write_powershell read_powershell stop_powershell',
  think: 'task report_intent update_todo think',
  fetch: 'web_fetch fetch_copilot_cli_documentation',
}

/** What is open in a run. */
class Run {
  readonly begun = calls()
  /** By agent. */
  readonly speaking = new OpenPieces('message')
  readonly thinking = new OpenPieces('reasoning')
  model: string | undefined
  /** The last thought of this step, per agent: both a message and a record of its own contain it. */
  readonly thoughts = memory<string>((thought) => thought.length)
  failed = false

  /** What has no final record (the model was cut off or is asked again) ends with the step. */
  leave(agent: string | undefined, say: Say): void {
    this.thinking.leave(agent ?? '', say)
    this.speaking.leave(agent ?? '', say)
  }

  think(id: string | undefined, content: string | undefined, parent: string | undefined, say: Say): void {
    if (content === undefined || content === '') return
    const agent = parent ?? ''
    if (!this.thinking.has(agent) && content === this.thoughts.get(agent)) return
    this.thoughts.set(agent, content)
    say.reasoning(this.thinking.end(agent, id), content, { parent })
  }

  fail(message: string, agent: string | undefined, say: Say, code?: unknown): void {
    // A subagent's failure belongs to its call: the run continues.
    if (agent === undefined) this.failed = true
    say.error(message, agent === undefined ? 'fatal' : 'warning', { code })
  }
}

export const copilotProgram: Program = {
  names: 'copilot @github/copilot',
  headless: '-p --prompt',
  records: '--output-format=json --acp',
  add: '--output-format json',
  talks: 'copilot --acp',
  blind: 'cost',
  command: {
    flags:
      '--allow-all-tools --allow-all --yolo --allow-all-paths --allow-all-urls --no-color --no-ask-user --autopilot -s --silent --no-custom-instructions --no-auto-update --screen-reader --experimental --no-experimental --disable-builtin-mcps --enable-all-github-mcp-tools --disallow-temp-dir --plain-diff --banner --acp --share-gist --enable-reasoning-summaries',
    values:
      '--model --output-format --agent --log-level --log-dir --config-dir --stream --effort --reasoning-effort --max-autopilot-continues --mode --bash-env',
    lists:
      '--allow-tool --deny-tool --available-tools --excluded-tools --add-dir --additional-mcp-config --disable-mcp-server --add-github-mcp-tool --add-github-mcp-toolset --allow-url --deny-url --secret-env-vars --share',
    task: '-p --prompt',
    session: '--resume --continue --session-id -r',
    alone: '-i --interactive',
    next: (options, session) => [...options, `--resume=${session}`],
  },
}

/** GitHub Copilot CLI (`--output-format json`). The last line has the session id and the verdict. */
export const copilot: Engine = /* @__PURE__ */ table({
  name: 'copilot',
  parser: 'copilot_ndjson',
  about: 'copilot --output-format json; 1.0',
  failures: [
    ['auth', /^authentication|^authorization/],
    ['quota', /^quota/],
    ['context', /^context/],
  ],
  tools,
  shape: (line) => isSessionEvent(line) || fits(line.values, `${VERDICT} timestamp:text usage:record`),
  // A shorter `result` is Copilot's own, too, and optional fields may be missing.
  later: (line) => isLater(line) || fits(line.values, VERDICT),
  state: () => new Run(),
  each(line, say, run) {
    if (line.at('type') === 'result') return
    say.fields(line.values, 'type data id timestamp parentId ephemeral agentId:text')
    run.model = line.text('data.model') ?? run.model
  },
  of: 'data',
  // Start-up, progress, and what another record repeats in full.
  quiet:
    'session.skills_loaded session.mcp_servers_loaded session.tools_updated session.info ' +
    'session.background_tasks_changed model.call_start model.call_finished model.call_final_result ' +
    'assistant.intent assistant.message_start tool.shell_output tool.execution_partial_result assistant.idle ' +
    // The call of a subagent has the same.
    'subagent.started subagent.selected subagent.configured subagent.completed',
  on: {
    'session.start': saySession,
    'user.message': {
      fields: '* content:text',
      read(data, say, _, line) {
        if (agentOf(line) === undefined) sayPrompt(data, say)
      },
    },
    'assistant.turn_start': {
      fields: 'turnId:text interactionId:text parentToolCallId:text',
      read(_, say, run, line) {
        const agent = agentOf(line)
        run.leave(agent, say)
        run.thoughts.take(agent ?? '')
        if (agent !== undefined) return
        // Also after an error: the engine continues, so the run did not fail.
        run.failed = false
        say.turn('goes on')
        say.status('turn_started', { model: run.model })
      },
    },
    'assistant.turn_end': {
      fields: 'turnId:text parentToolCallId:text',
      read(_, say, run, line) {
        run.leave(agentOf(line), say)
        if (agentOf(line) === undefined) say.status('turn_ended')
      },
    },
    'assistant.turn_retry': {
      fields: 'turnId:text model:text reason:text parentToolCallId:text',
      read(data, say, run, line) {
        run.leave(agentOf(line), say)
        run.thoughts.take(agentOf(line) ?? '')
        const reason = data.text('reason') ?? 'unknown'
        say.status('turn_retry', { reason })
        say.error(`the engine asks the model again (${reason})`, 'warning', { retryable: true })
      },
    },
    'model.call_failure': (data, say) =>
      say.error(data.text('errorMessage') ?? 'a request to the model failed', 'warning'),
    'assistant.message_delta': {
      fields: 'messageId:text deltaContent:text parentToolCallId:text',
      read(data, say, run, line) {
        const agent = agentOf(line)
        const words = data.text('deltaContent')
        if (words !== undefined) run.speaking.piece(agent ?? '', data.text('messageId'), words, say, agent)
      },
    },
    'assistant.message': {
      fields:
        'messageId:text originatingMessageId:text model:text content:text toolRequests:list interactionId:text ' +
        'turnId:text reasoningText:text reasoningOpaque rte apiCallId:text parentToolCallId:text phase outputTokens requestId',
      read(data, say, run, line) {
        const agent = agentOf(line)
        const id = run.speaking.end(agent ?? '', data.text('messageId'))
        run.think(undefined, data.text('reasoningText'), agent, say)
        // A message without text only calls tools.
        say.message(id, data.text('content') || undefined, { parent: agent })
      },
    },
    'assistant.reasoning_delta': {
      fields: '* reasoningId:text deltaContent:text',
      read(data, say, run, line) {
        const agent = agentOf(line)
        const words = data.text('deltaContent')
        if (words) run.thinking.piece(agent ?? '', data.text('reasoningId'), words, say, agent)
      },
    },
    'assistant.reasoning': {
      fields: 'reasoningId:text content:text rte parentToolCallId:text',
      read: (data, say, run, line) =>
        run.think(data.text('reasoningId'), data.text('content'), agentOf(line), say),
    },
    'assistant.usage': (data, say, _, line) =>
      say.status('usage', { usage: data.values, tokens: tokensIn(data.values), parent: agentOf(line) }),
    'assistant.tool_call_delta': {
      fields: '* toolCallId:text toolName:text inputDelta:text',
      read(data, say, _, line) {
        const { id, name, parent } = startOf(data, line)
        say.call('input', { id, name, parent, input: data.text('inputDelta') ?? '' })
      },
    },
    'tool.execution_start': {
      fields:
        'toolCallId:text toolName:text arguments turnId model toolTitle shellToolInfo parentToolCallId:text',
      read(data, say, { begun }, line) {
        if (data.text('toolCallId toolName') === undefined) return false
        const call = startOf(data, line)
        // Without its path: the end of the call tells the files that it has changed.
        begun.begun(call.id, call.name, undefined)
        say.call('started', call)
        return true
      },
    },
    'tool.execution_complete': {
      fields:
        'toolCallId:text model interactionId turnId rte shellExecution:record fileEdits:list success:flag ' +
        'result:record error toolTelemetry parentToolCallId:text',
      read(data, say, { begun }, line) {
        if (!saysEnd(data)) return false
        sayEnd(data, line, begun, say)
        const edits = data.records('fileEdits')
        // A diff of several files is not the diff of one of them.
        const diff = data.list('fileEdits').length === 1 ? diffOf(data) : undefined
        for (const edit of edits) {
          const path = edit.text('path')
          if (path !== undefined) say.artifact(changeOf.get(edit.at('kind')) ?? 'modified', path, diff)
        }
        return true
      },
    },
    'session.error': {
      fields: 'errorType message:text statusCode originatingMessageId stack',
      read: (data, say, run, line) => {
        const message = errorText(data.at('message error detail'))
        run.fail(message, agentOf(line), say, data.at('statusCode') ?? data.at('errorType'))
      },
    },
    'session.warning': (data, say) => say.error(errorText(data.at('message')), 'warning'),
    abort: (data, say, run, line) =>
      run.fail(`aborted: ${data.text('reason') ?? 'unknown'}`, agentOf(line), say),
    result: {
      // Other agents end with a `result`, too.
      least: 'exitCode:number, sessionId:text !uuid !parentUuid',
      read(_, say, run, line) {
        say.fields(line.values, 'type timestamp sessionId exitCode usage:record')
        const code = line.at('exitCode')
        const reason = code === undefined ? 'unknown' : `exit code ${code}`
        say.session(line.at('sessionId'), { model: run.model })
        say.status('result', { reason, usage: line.at('usage') })
        if (code === 0) say.ended('result')
        else if (code !== undefined && !run.failed)
          run.fail(`the engine ended with ${reason}`, undefined, say)
      },
    },
  },
})

/** The last line. Other programs end with such a record, too. */
const VERDICT = 'type=result sessionId:text exitCode:number'

const families = new Set<string | undefined>([
  ...['session', 'user', 'system', 'assistant', 'model', 'tool', 'subagent', 'hook', 'skill'],
  ...['permission', 'abort'],
])

function isLater(line: Rec): boolean {
  return families.has(line.text('type')?.split('.', 1)[0]) && fits(line.values, 'data:record id:text')
}

/** Every line but the last has this envelope. */
function isSessionEvent(line: Rec): boolean {
  if (!isLater(line) || line.text('timestamp') === undefined) return false
  return line.text('parentId') !== undefined || line.at('parentId') === null
}

const changeOf = new Map<unknown, 'created' | 'deleted'>([
  ['create', 'created'],
  ['delete', 'deleted'],
])

/** The subagent that a line is about: its call, or its id. */
function agentOf(line: Rec): string | undefined {
  return line.text('data.parentToolCallId agentId')
}

/** The facts about the run at the start of a session. */
function saySession(data: Rec, say: Say): void {
  say.session(data.at('sessionId'), {
    model: data.text('selectedModel'),
    cwd: data.text('context.cwd'),
    engine_version: data.text('copilotVersion'),
  })
}

/** Reports the prompt without Copilot's additions. Such messages of skills have a source. */
function sayPrompt(data: Rec, say: Say): void {
  const words = data.text('content')
  if (words && (data.at('source') === undefined || data.at('source') === 'user')) say.user(words)
}

/** A call that begins. */
function startOf(data: Rec, line: Rec): CallFacts {
  return {
    id: data.text('toolCallId') ?? '',
    name: data.text('toolName') ?? 'tool',
    input: data.at('arguments'),
    parent: agentOf(line),
  }
}

/** Whether a record says at least whose end it is, or how it was. */
function saysEnd(data: Rec): boolean {
  return ['toolCallId', 'toolName', 'success', 'result', 'error'].some((key) => data.has(key))
}

function sayEnd(data: Rec, line: Rec, begun: Calls, say: Say, shown?: Shown): void {
  const exit_code = data.number('shellExecution.exitCode')
  const call = {
    id: data.text('toolCallId') ?? '',
    name: data.text('toolName'),
    output: data.at('result.content'),
    exit_code,
    error: data.text('error.message error'),
    denied: ['denied', 'rejected'].includes(data.text('error.code') ?? '') || undefined,
    parent: agentOf(line),
  }
  // `success` only means that the shell ran: the command itself may have failed.
  begun.end(call, (data.at('success') ?? !data.has('error')) !== true || (exit_code ?? 0) !== 0, say, shown)
}

/** One request to the model. The input includes cached tokens. */
const tokensIn = /* @__PURE__ */ tokensAt(
  {
    input: 'inputTokens',
    output: 'outputTokens',
    cached: 'cacheReadTokens',
    cache_write: 'cacheWriteTokens',
    reasoning: 'reasoningTokens',
  },
  { cache: 'within', reasoning: 'within' },
)

/** The diff that a tool reports of the file it has changed. */
function diffOf(data: Rec): string | undefined {
  return unifiedDiff(data.at('result.detailedContent'))?.trimStart()
}

/**
 * GitHub Copilot CLI's session files (`session-state/<session>/events.jsonl` in its home): the permanent
 * lines of stdout, with the session at the start and without the result at the end. A shutdown is routine
 * after a failure, too, so the end of a session that did not fail is unknown.
 */
export const copilotSession: Engine = /* @__PURE__ */ table({
  name: 'copilot',
  parser: 'copilot_session',
  growing: true,
  tools,
  cut: { stdout: 'records' },
  about: 'session file: session-state/*/events.jsonl; 1.0',
  // Only the file begins with the start of the session; stdout has lines of the same types.
  shape: 'type=session.start id:text data.sessionId:text data.copilotVersion:text',
  later: 'type:text id:text data:record',
  least: 'data:record',
  state: () => ({ begun: calls(), turn: turns(), thought: '' }),
  of: 'data',
  fields: '*',
  quiet:
    'system.message session.resume session.shutdown session.info assistant.turn_start assistant.turn_end ' +
    'session.truncation session.auto_mode_resolved session.usage_checkpoint system.notification hook.start hook.end ' +
    'session.mode_changed permission.requested permission.completed subagent.started subagent.selected ' +
    'subagent.configured subagent.completed',
  on: {
    'session.start': saySession,
    'session.model_change'(data, say) {
      const model = data.text('newModel')
      if (model !== undefined) say.status('configured', { model })
    },
    'session.usage_record'(data, say) {
      const usage = data.record('usage')?.values
      if (usage) say.status('usage', { usage, tokens: tokensIn(usage) })
    },
    'user.message': {
      fields: 'content:text',
      read(data, say, { turn }, line) {
        // The prompt of a subagent.
        if (agentOf(line) !== undefined) return
        sayPrompt(data, say)
        turn.begin(say)
      },
    },
    'assistant.message': {
      fields: 'messageId:text content:text reasoningText:text',
      read(data, say, file, line) {
        const parent = agentOf(line)
        if (parent === undefined) file.turn.goOn(say)
        const id = data.text('messageId')
        const thoughts = data.text('reasoningText')
        const words = data.text('content')
        if (thoughts && thoughts !== file.thought) say.reasoning(id, thoughts, { parent })
        file.thought = ''
        if (words) say.message(id, words, { parent })
      },
    },
    // The message after it may repeat it.
    'assistant.reasoning'(data, say, file, line) {
      file.thought = data.text('content') ?? ''
      if (file.thought) say.reasoning(data.text('reasoningId'), file.thought, { parent: agentOf(line) })
    },
    'tool.execution_start': {
      fields: 'toolCallId:text toolName:text',
      read: (data, say, { begun }, line) =>
        data.text('toolCallId toolName') !== undefined && begun.start(startOf(data, line), say),
    },
    'tool.execution_complete': {
      fields: 'toolCallId:text success:flag shellExecution:record result:record',
      read: (data, say, { begun }, line) =>
        saysEnd(data) && sayEnd(data, line, begun, say, { fileDiff: diffOf(data) }),
    },
    'session.error'(data, say, { turn }, line) {
      const message = data.text('message') ?? 'the session failed'
      if (agentOf(line) === undefined) turn.fail(message, say)
      else say.error(message, 'warning')
    },
    abort: (data, say, { turn }) => turn.fail(`aborted: ${data.text('reason') ?? 'no reason given'}`, say),
    'session.compaction_complete': (_, say) => say.status('compacted'),
  },
})
