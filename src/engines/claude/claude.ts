import {
  type Engine,
  type EngineFrame,
  type EngineReader,
  type FailureTable,
  isLenient,
  isRecord,
  type ReaderOptions,
  type Say,
  type ToolTable,
} from '../../events/engine.ts'
import { fits, Rec } from '../../events/record.ts'
import { jsonValue } from '../../json/strict.ts'
import { TextBalance } from '../../json/text-balance.ts'
import { AnswerText } from '../answer-text.ts'
import type { Program } from '../command-line.ts'
import { conversation, readSent } from './turn.ts'
import { controlWire } from './wire.ts'

/** What the errors of the dialect mean. */
export const failures: FailureTable = [
  ['context', /Prompt[_ ](?:is )?too[_ ]long/i],
  ['quota', /limit reached|out of extra usage|error_max_budget_usd/i],
  ['auth', /OAuth token/i],
]

const WIRE = /* @__PURE__ */ controlWire(false)

export const claudeProgram: Program = {
  names: 'claude @anthropic-ai/claude-code',
  headless: '-p --print',
  records: '--output-format=json|stream-json',
  add: '--output-format stream-json --verbose',
  wire: WIRE,
  talks:
    'claude -p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio',
  command: {
    flags:
      '-p --print --verbose --include-partial-messages --include-hook-events --replay-user-messages --dangerously-skip-permissions --allow-dangerously-skip-permissions --strict-mcp-config --disable-slash-commands --ide --bare',
    values:
      '--output-format --input-format --model --fallback-model --permission-mode --permission-prompt-tool --system-prompt --system-prompt-file --append-system-prompt --append-system-prompt-file --max-turns --max-budget-usd --settings --setting-sources --agents --agent --json-schema --effort --name -n --debug-file --plugin-dir',
    lists:
      '--allowedTools --allowed-tools --disallowedTools --disallowed-tools --tools --mcp-config --add-dir --betas',
    session: '-r --resume -c --continue --fork-session --session-id',
    alone: '--no-session-persistence',
    // One word: an id that begins with a dash is no other option.
    next: (options, session) => [...options, `--resume=${session}`],
  },
}

export const tools: ToolTable = {
  read: 'Read NotebookRead',
  edit: 'Edit MultiEdit Write NotebookEdit',
  search: 'Glob Grep LS WebSearch ToolSearch',
  execute: 'Bash BashOutput KillShell KillBash',
  think: 'Task Agent TodoWrite TaskCreate TaskUpdate TaskList',
  fetch: 'WebFetch',
}

/** How the result of a call begins that was not allowed. */
export const claudeDenial =
  /^(?:Error: )?(?:Claude requested permissions? |Permission (?:to use |for this (?:action|tool use) )|The user doesn't want to (?:proceed with this tool use|take this action)|This (?:Bash )?command (?:requires approval|contains multiple operations))/

/** Claude Code (`claude -p --output-format stream-json | json | text`), with or without partial messages. */
export const claude: Engine = {
  name: 'claude',
  parser: 'claude_ndjson',
  cut: { stdout: 'documents', pty: 'documents', stdin: sentTo },
  about: 'claude -p --output-format stream-json, json or text; read from its published types, not run',
  shape: (frame) => isOwn(first(frame)) && !isQwen(first(frame)) && !isAmp(first(frame)),
  open: openDialect,
  failures,
  tools,
  denials: claudeDenial,
}

const TYPES = 'type=system|assistant|user|result|stream_event|rate_limit_event'
const DIALECT = 'type=system|assistant|user|result|stream_event|rate_limit_event session_id:text'

/** A record of this dialect only. Cursor and Droid borrow its envelope, but not these fields. */
function isOwn(value: unknown): boolean {
  return fits(value, DIALECT) && own.some((conditions) => fits(value, conditions))
}

const own = [
  'uuid:text',
  'parent_tool_use_id',
  'type=system mcp_servers:list',
  'type=result num_turns:number',
  'type=stream_event event.type:text',
  'type=assistant|user|rate_limit_event message.id:text',
]

/** Control records for the SDK before the first message; there is no session yet. */
function isControl(value: unknown): boolean {
  return controls.some((conditions) => fits(value, conditions))
}

const controls = [
  'type=control_cancel_request request_id:text',
  'type=control_response response:record',
  'type=control_request request:record',
]

/** A record of a run that has begun: an unknown type counts as drift. An answer of Cursor does not count. */
function isLater(value: unknown): boolean {
  if (fits(value, 'type=assistant') || fits(value, 'type=result request_id')) return isOwn(value)
  return fits(value, DIALECT) || !fits(value, TYPES)
}

/** What a record has at least, if the caller has named the engine. */
const least = [
  'type=system subtype:text',
  'type=assistant|user message.content',
  'type=result subtype|result:text',
  'type=result is_error:flag',
  'type=stream_event event:record',
  'type=rate_limit_event',
]

/** What records of the same types have in other formats: Cursor, Droid, and the session files. */
const foreign = [
  'type=system apiKeySource !uuid !tools !mcp_servers',
  'reasoning_effort !uuid',
  'type=result request_id !uuid !num_turns',
  'timestamp_ms !uuid',
  'sessionId',
  'type=thinking|tool_call !uuid',
]

/** Qwen Code names itself, and spells its permission mode differently. */
export function isQwen(value: unknown): boolean {
  return isOwn(value) && (fits(value, 'qwen_code_version') || fits(value, 'permission_mode'))
}

/** A thread of Amp: Claude Code's sessions are bare UUIDs. */
export function isAmp(value: unknown): boolean {
  return isRecord(value) && fits(value, DIALECT) && String(value['session_id']).startsWith('T-')
}

/** A prompt, or with `--input-format stream-json` records: the first line tells. */
export function sentTo({ channel, value }: Pick<EngineFrame, 'channel' | 'value'>) {
  if (channel !== 'stdin') return undefined
  return fits(value, 'type=user message:record') || isControl(value) ? 'records' : 'text'
}

/** Claude Code, Qwen Code and Amp share one dialect. */
export function openDialect(limits: ReaderOptions): EngineReader {
  const answer = new AnswerText(limits, 1)
  const turn = conversation()
  let spoke = false
  /** A record of another format was seen, so what could be either is not Claude Code's. */
  let isForeign = false
  /** A record of the dialect was seen that says nothing. */
  let isBare = false
  const isLeast = (value: unknown): boolean => {
    isForeign ||= foreign.some((conditions) => fits(value, conditions))
    return !isForeign && least.some((conditions) => fits(value, conditions))
  }
  const read = (value: unknown, say: Say, extra: boolean): boolean | 'kept' => {
    if (!isRecord(value) || !fits(value, 'type:text')) return false
    // What came before the first record is not an answer: it is emitted as raw now, at its own position.
    if (!spoke) answer.giveBack(say)
    spoke = true
    return turn.read(new Rec(value), say, extra)
  }
  return {
    read(frame, say) {
      const { value } = frame
      const extra = frame.extra !== undefined
      const lenient = isLenient(frame, limits)
      if (isOwn(value) || isControl(value) || (lenient && isLeast(value))) return read(value, say, extra)
      if (spoke && isRecord(value) && isLater(value)) return read(value, say, extra)
      // The single array of json mode; if it is cut off, its complete elements still count.
      if (isOwn(first(frame)) || (lenient && isLeast(first(frame)))) {
        const all = Array.isArray(value) ? value : elements(frame.text)
        return all.map((one) => read(one, say, extra)).some(Boolean)
      }
      // No line among records is an answer.
      isBare ||= saysNothing(value)
      if (isBare) answer.giveBack(say)
      return spoke || isBare ? false : answer.keep(frame, say)
    },
    sent: ({ value }, say) => readSent(Rec.of(value, 'type:text'), say),
    end(say) {
      answer.speak(say)
      turn.end(say)
    },
  }
}

const ENVELOPE = /^(?:type|subtype|message|event|uuid|session_id|parent_tool_use_id|timestamp)$/

/** Whether a value is a record of the dialect, but says nothing: it is not an answer in JSON. */
function saysNothing(value: unknown): boolean {
  if (!isRecord(value) || !fits(value, 'type:text')) return false
  if (fits(value, 'uuid:text session_id:text')) return true
  return fits(value, TYPES) && Object.keys(value).every((key) => ENVELOPE.test(key))
}

/** The record in the frame, or the first one of its array, complete or cut off. */
export function first({ value, text, open }: EngineFrame): unknown {
  if (Array.isArray(value)) return value[0]
  return open && text.startsWith('[{') ? elements(text, 1)[0] : value
}

/** The elements of an array that are complete, though the array may not be. */
function elements(array: string, max = Number.POSITIVE_INFINITY): unknown[] {
  const found: unknown[] = []
  let at = 1
  for (;;) {
    if (found.length >= max) return found
    while (array[at] === ',' || array[at] === ' ') at++
    const rest = array.slice(at)
    const end = new TextBalance().read(rest)
    if (typeof end !== 'number') return found
    const value = jsonValue(rest.slice(0, end))
    if (value === undefined) return found
    found.push(value)
    at += end
  }
}
