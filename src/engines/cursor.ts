import { asText, type Engine, isRecord, type Say, type ToolTable } from '../events/engine.ts'
import { Rec } from '../events/record.ts'
import { calls, unifiedDiff } from './calls.ts'
import type { Program } from './command-line.ts'
import { blocksOf, wordsOf } from './content-blocks.ts'
import { table } from './record-table.ts'
import { tokensAt } from './token-parts.ts'

const tools: ToolTable = {
  read: 'readToolCall readLintsToolCall',
  edit: 'editToolCall writeToolCall',
  delete: 'deleteToolCall',
  search: 'lsToolCall grepToolCall globToolCall semSearchToolCall codebaseSearchToolCall webSearchToolCall',
  execute: 'shellToolCall',
  think: 'updateTodosToolCall readTodosToolCall taskToolCall',
  fetch: 'webFetchToolCall fetchToolCall',
}

/** The text that is arriving. */
class Run {
  /** The thought whose pieces are arriving. */
  thought: string | undefined
  /** The message whose pieces are arriving, and its text so far. */
  open: string | undefined
  pieces = ''
  /** The last message that arrived in pieces: a line that only repeats it is not another message. */
  last: string | undefined
  answered = false
  readonly calls = calls()
  /** The session of the turn: another one does not end it. */
  session: string | undefined
  readonly maxFrame: number

  constructor(maxFrame: number) {
    this.maxFrame = maxFrame
  }

  /** The thought ends; `whole` is '' if the record says so itself. */
  think(say: Say, whole?: ''): void {
    if (this.thought !== undefined) say.reasoning(this.thought, whole)
    this.thought = undefined
  }

  /** A piece of a message. */
  piece(words: string, say: Say): void {
    this.open ??= say.newId()
    if (this.pieces.length < this.maxFrame) this.pieces += words
    say.piece('message', this.open, words)
  }

  /** The message ends; `whole` is its text, if that is known. */
  close(say: Say, whole?: string): void {
    if (this.open === undefined) return
    say.message(this.open, whole)
    this.last = whole ?? this.pieces
    this.open = undefined
    this.pieces = ''
  }
}

export const cursorProgram: Program = {
  names: 'cursor-agent',
  headless: '-p --print',
  records: '--output-format=json|stream-json acp',
  add: '--output-format stream-json',
  blind: 'cost',
}

/**
 * Cursor (`cursor-agent -p --output-format stream-json | json`), with or without `--stream-partial-output`.
 * Claude Code's envelope with its own content: no ids of messages, `thinking` and `tool_call` lines.
 */
export const cursor: Engine = /* @__PURE__ */ table({
  name: 'cursor',
  parser: 'cursor_ndjson',
  about: 'cursor-agent -p --output-format stream-json or json; read from public recordings, not run',
  // Read from public recordings of one version: less certain than our own recordings.
  confidence: 0.8,
  tools,
  // What it shares with Claude Code has a `uuid` there.
  shape: 'session_id:text !uuid',
  later: '!uuid !parent_tool_use_id',
  least: '!uuid !parent_tool_use_id',
  sub: 'subtype',
  fields: 'type session_id:text timestamp_ms:number',
  state: ({ maxFrame }) => new Run(maxFrame),
  each(line, say, run) {
    const session = line.text('session_id')
    run.session = line.at('type') === 'system' ? session : (run.session ?? session)
    say.session(line.at('session_id'), { model: line.text('model'), cwd: line.text('cwd') })
    if (line.at('type') !== 'thinking') run.think(say)
    if (line.at('type') !== 'assistant') run.close(say)
  },
  on: {
    'system init': {
      shape: 'apiKeySource permissionMode !mcp_servers',
      least: '!mcp_servers !tools',
      read(line, say) {
        say.turn('begins')
        say.status('turn_started', { model: line.text('model') })
      },
    },
    user: {
      least: 'message.content',
      read(line, say) {
        const words = contentOf(line)
        if (words) say.user(words)
      },
    },
    thinking: {
      shape: 'subtype=delta|completed',
      fields: '* text:text',
      read(line, say, run) {
        const words = line.text('text')
        // With another subtype it is not known whose words they are.
        if ((line.at('subtype') ?? 'delta') !== 'delta') return false
        if (!words) return true
        run.thought ??= say.newId('reasoning')
        say.piece('reasoning', run.thought, words)
        return true
      },
    },
    'thinking completed': {
      shape: 'subtype=delta|completed',
      read: (_, say, run) => run.think(say, ''),
    },
    assistant: {
      least: 'message.content',
      fields: 'message:record model_call_id:text',
      read(line, say, run) {
        const words = contentOf(line)
        if (words === undefined) return false
        run.answered = true
        // With --stream-partial-output, pieces have only the time. The whole text follows, with both fields
        // or neither, and may contain the text before it.
        if (line.has('timestamp_ms') && !line.has('model_call_id')) run.piece(words, say)
        else if (run.open !== undefined) run.close(say, words.endsWith(run.pieces) ? run.pieces : words)
        else if (run.last === undefined || !words.endsWith(run.last)) say.message(undefined, words)
        return true
      },
    },
    tool_call: {
      shape: 'call_id:text tool_call:record',
      least: 'call_id|tool_call',
      fields: 'subtype=started|completed call_id:text tool_call:record model_call_id:text',
      read: readCall,
    },
    result: {
      shape: 'request_id:text !num_turns',
      least:
        'subtype|result:text !num_turns, is_error:flag !num_turns, usage.outputTokens|usage.output_tokens !num_turns',
      fields:
        'subtype:text is_error:flag duration_ms:number duration_api_ms:number result:text request_id:text usage:record ' +
        'model inputTokens outputTokens cacheReadTokens cacheWriteTokens',
      read(line, say, run) {
        const answer = line.text('result') ?? ''
        const subtype = line.text('subtype')
        const failed = line.isSet('is_error') || (subtype ?? 'success') !== 'success'
        const told = subtype !== undefined || line.at('is_error') === false
        const own = (line.text('session_id') ?? run.session) === run.session
        // It joins all texts; it is the answer only if nothing else was said (json mode).
        if (!run.answered && !failed && answer !== '') say.message(undefined, answer)
        const usage = line.at('usage')
        const tokens = tokensIn(usage ?? line.values)
        say.status('result', { reason: subtype ?? 'unknown', usage, tokens })
        if (failed) say.error(line.text('error') ?? (answer || 'the run failed'), 'fatal', { verdict: true })
        else if (told && own) say.ended('result success', line.text('result'))
        run.last = undefined
        run.answered = false
      },
    },
  },
})

/** The text of a message; undefined if it has a content without any. */
function contentOf(line: Rec): string | undefined {
  const content = line.at('message.content')
  const isEmpty = Array.isArray(content) && content.length === 0
  const hasText = blocksOf(content).some((block) => block.text('text') !== undefined)
  return isEmpty || hasText ? wordsOf(content, '') : undefined
}

/** The tool is the only key of `tool_call`; how it ended is the only key of `result`. */
function readCall(line: Rec, say: Say, run: Run): boolean {
  const id = line.text('call_id tool_call.toolCallId') ?? ''
  const ends = line.at('subtype') === 'completed'
  // The end of a call that began may lack its tool.
  const before = ends ? run.calls.ended(id) : undefined
  const [name, body] = firstIn(line.record('tool_call'), isRecord) ?? [before?.name, before && {}]
  const tool = Rec.of(body)
  if (name === undefined || tool === undefined) return false
  const call = {
    id,
    name: name === 'function' ? (tool.text('name') ?? name) : name,
    input: tool.at('args arguments'),
  }
  if (line.at('subtype') === 'started') {
    run.calls.start(call, say)
    return true
  }
  if (!ends) return false
  const good = tool.at('result.success')
  const bad = firstIn(tool.record('result'), (one) => isRecord(one) || typeof one === 'string')
  if (good === undefined && bad !== undefined) {
    const [kind, output] = bad
    const why = Rec.of(output)
    const words = ['error', 'errorMessage', 'message', 'reason', 'stderr'].map((key) => why?.text(key))
    const error = (why ? words.find(Boolean) : asText(output)) || kind
    const denied = kind === 'rejected' || undefined
    say.call('failed', { ...call, output, error, denied, duration_ms: why?.duration('executionTime') })
    return true
  }
  const exit_code = tool.number('result.success.exitCode')
  // How long a command ran; other tools do not report it.
  const duration_ms = tool.duration('result.success.executionTime')
  const ended = { ...call, output: good ?? tool.at('result'), exit_code, duration_ms }
  const failed = (exit_code ?? 0) !== 0
  say.call(failed ? 'failed' : 'completed', ended)
  if (failed) return true
  const path = tool.text('result.success.path args.path arguments.path')
  const change = changes.get(name)
  if (good !== undefined && path !== undefined && change !== undefined)
    say.artifact(change, path, unifiedDiff(tool.at('result.success.diffString')))
  return true
}

/** The first field whose value fits. */
function firstIn(record: Rec | undefined, fits: (value: unknown) => boolean): [string, unknown] | undefined {
  return Object.entries(record?.values ?? {}).find(([, value]) => fits(value))
}

/** Whether the input includes cached tokens was not observed: with a cache it is left out. */
const tokensIn = /* @__PURE__ */ tokensAt({
  input: 'inputTokens input_tokens',
  output: 'outputTokens output_tokens',
  cached: 'cacheReadTokens cached_input_tokens',
  cache_write: 'cacheWriteTokens cache_creation_input_tokens',
})

const changes: ReadonlyMap<string, 'created' | 'modified' | 'deleted'> = new Map([
  ['writeToolCall', 'created'],
  ['editToolCall', 'modified'],
  ['deleteToolCall', 'deleted'],
])
