import type { Engine, Say, ToolTable } from '../events/engine.ts'
import { memory } from '../events/memory.ts'
import type { Rec } from '../events/record.ts'
import { shownIn } from './calls.ts'
import { failures, first, isQwen, openDialect, sentTo } from './claude/claude.ts'
import { controlWire } from './claude/wire.ts'
import type { CommandLine, Program } from './command-line.ts'
import { contentBlocks, wordsOf } from './content-blocks.ts'
import { GEMINI_COMMAND } from './gemini/gemini.ts'
import { rows, table } from './record-table.ts'
import { turns } from './session-turns.ts'
import { geminiTokens } from './token-parts.ts'

// Pure for bundlers: a bundle without this engine drops it.
const COMMAND = /* @__PURE__ */ command(GEMINI_COMMAND)
const WIRE = /* @__PURE__ */ controlWire(true)

function command(gemini: CommandLine): CommandLine {
  return {
    ...gemini,
    flags: `${gemini.flags} --include-partial-messages --checkpointing --chat-recording --telemetry --no-chat-recording --openai-logging`,
    values: `${gemini.values} --auth-type --openai-api-key --openai-base-url --input-format --max-session-turns --system-prompt --append-system-prompt --channel --tavily-api-key --google-api-key --proxy`,
    session: `${gemini.session} -c --continue`,
  }
}

const tools: ToolTable = {
  read: 'read_file read_many_files read_mcp_resource zoom_image',
  edit: 'edit write_file replace notebook_edit',
  search: 'grep_search search_file_content glob list_directory web_search tool_search',
  execute: 'run_shell_command',
  think: 'agent task todo_write save_memory',
  fetch: 'web_fetch',
}

/** An interrupted command was not denied. */
export const qwenDenial =
  /^\[Operation Cancelled\] Reason: (?!User cancelled tool execution|Error: Request aborted)|^Qwen Code requires permission to use |^Tool ".{1,100}" is denied/

export const qwenProgram: Program = {
  names: 'qwen @qwen-code/qwen-code',
  records: '-o=json|stream-json --output-format=json|stream-json --acp --experimental-acp',
  add: '-o stream-json',
  blind: 'cost',
  command: COMMAND,
  wire: WIRE,
  talks: 'qwen --acp',
}

/** Qwen Code (`qwen -o stream-json | json | text`). The dialect is Claude Code's. */
export const qwen: Engine = {
  name: 'qwen',
  parser: 'qwen_ndjson',
  cut: { stdout: 'documents', pty: 'documents', stdin: sentTo },
  about: 'qwen -o stream-json (also with partials), json or text; 0.24',
  failures,
  tools,
  denials: qwenDenial,
  shape: (frame) => isQwen(first(frame)),
  open(limits) {
    const { read, ...reader } = openDialect(limits)
    return { ...reader, read: (frame, say) => read(frame, withExitCode(say)) }
  },
}

/** The end of the text about a command that failed. The output of the command is before it. */
const ENDING = /\nExit Code: (\d{1,3})\nSignal: [^\n]{0,40}(?:\nProcess Group PGID: [^\n]{0,40})?$/

function withExitCode(say: Say): Say {
  return {
    ...say,
    call(state, call) {
      const isCommand = state === 'failed' && call.name === 'run_shell_command'
      const found = isCommand ? ENDING.exec(call.error?.slice(-200) ?? '') : null
      say.call(state, found ? { ...call, exit_code: Number(found[1]) } : call)
    },
  }
}

function newFile() {
  return {
    turn: turns(),
    blocks: contentBlocks(),
    /** Durations of calls: recorded before their results, and with an id only in 0.24. */
    took: memory<number>(() => 0),
  }
}

type File = ReturnType<typeof newFile>

const LINE = 'uuid:text sessionId:text parentUuid'
const SPOKEN = 'uuid:text sessionId:text parentUuid message.parts:list'
const FIELDS =
  'uuid parentUuid sessionId timestamp type subtype:text provenance:text cwd:text version:text gitBranch model:text ' +
  'message usageMetadata toolCallResult:record systemPayload:record contextWindowSize'

/**
 * Qwen Code's session files (`projects/<dir>/chats/<session>.jsonl` in its home). Lines like Claude Code's
 * with messages like Gemini's. They record no end, and only failures of single requests: how a run ended
 * stays unknown.
 */
export const qwenSession = /* @__PURE__ */ table<File>({
  name: 'qwen',
  parser: 'qwen_session',
  growing: true,
  tools,
  denials: qwenDenial,
  cut: { stdout: 'records' },
  about: 'session file: projects/*/chats/*.jsonl; 0.24, 0.15, 0.7',
  later: SPOKEN,
  least: '!session_id',
  state: newFile,
  each(line, say) {
    say.fields(line.values, FIELDS)
    say.session(line.at('sessionId'), { cwd: line.text('cwd'), engine_version: line.text('version') })
  },
  on: {
    user: {
      shape: SPOKEN,
      least: 'message.parts:list',
      read(line, say, { turn }) {
        turn.begin(say)
        // Hooks add their words to the prompt, and nobody typed a notification.
        const words = line.text('systemPayload.displayText') ?? wordsOf(line.at('message.parts'), '')
        const own = (line.at('provenance') ?? 'real_user') === 'real_user' && !line.has('subtype')
        if (own && words !== '') say.user(words)
      },
    },
    assistant: { shape: SPOKEN, least: 'message.parts:list', read: readAnswer },
    tool_result: { shape: SPOKEN, least: 'message.parts:list', read: readResults },
    system: {
      shared: true,
      shape: LINE,
      least: 'systemPayload:record',
      read(line, say, file) {
        readEvent(line.record('systemPayload.uiEvent'), say, file)
        return systemLines.read(line, say, file)
      },
    },
  },
})

function readAnswer(line: Rec, say: Say, { turn, blocks }: File): void {
  const id = line.text('uuid') ?? ''
  turn.model(line.text('model'), say)
  for (const part of line.records('message.parts')) {
    const call = part.record('functionCall')
    const words = part.text('text')
    if (call) {
      const input = call.at('args')
      blocks.start({ id: call.text('id') ?? '', name: call.text('name') ?? 'tool', input }, say)
    } else if (words && part.at('thought') === true) say.reasoning(blocks.nextId(id), words)
    else if (words) say.message(blocks.nextId(id), words)
    else if (words === undefined) say.unknownType(`part ${Object.keys(part.values).join(' ').slice(0, 40)}`)
  }
}

function readResults(line: Rec, say: Say, { blocks, took }: File): void {
  const status = line.at('toolCallResult.status') ?? 'success'
  const shown = line.record('toolCallResult.resultDisplay')
  for (const part of line.records('message.parts')) {
    const given = part.record('functionResponse')
    if (!given) continue
    const id = given.text('id') ?? ''
    const error = given.text('response.error')
    const call = {
      id,
      name: given.text('name'),
      output: given.at('response.output'),
      exit_code: shown?.number('exitCode'),
      duration_ms: took.take(id),
      error: error ?? line.text('toolCallResult.resultDisplay'),
    }
    blocks.end(call, error !== undefined || status !== 'success', say, shownIn(shown))
  }
}

/** The records that are not part of the conversation. */
const systemLines = /* @__PURE__ */ rows({
  by: 'subtype',
  called: 'system',
  quiet:
    'ui_telemetry attribution_snapshot slash_command at_command file_history_snapshot custom_title ' +
    'session_title rewind notification',
  on: { chat_compression: (_line, say) => say.status('compacted') },
})

/** Telemetry of the engine: durations of calls, tokens and failures of requests. */
function readEvent(event: Rec | undefined, say: Say, { took }: File): void {
  if (!event) return
  const call = event.text('call_id')
  const duration = event.duration('duration_ms')
  if (call !== undefined && duration !== undefined) took.set(call, duration)
  const { 'event.name': name } = event.values
  // One per request, including those of subagents, which have no assistant line.
  if (name === 'qwen-code.api_response') readRequest(event, say)
  // One per attempt. The file does not say whether it was the last one.
  if (name === 'qwen-code.api_error')
    say.error(event.text('error_message error') ?? 'a request failed', 'error')
}

function readRequest(event: Rec, say: Say): void {
  const tokens = geminiTokens({
    input: event.at('input_token_count'),
    output: event.at('output_token_count'),
    cached: event.at('cached_content_token_count'),
    thoughts: event.at('thoughts_token_count'),
    tool: event.at('tool_token_count'),
    total: event.at('total_token_count'),
  })
  // The event contains the whole answer, too.
  const counts = Object.entries(event.values).filter(([key]) => key.endsWith('_token_count'))
  if (tokens) say.status('usage', { usage: Object.fromEntries(counts), tokens })
}
