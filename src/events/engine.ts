import type { Code } from '../base/fault.ts'
import type { Frame } from '../frames/frame.ts'
import type { Channel } from '../text/chunk.ts'
import type { Cost } from './cost.ts'
import type { AgentRequest, FailureClass, RequestOption, Severity, ToolKind } from './event.ts'
import type { Wire } from './talk-wire.ts'
import type { Tokens } from './tokens.ts'

/**
 * How the lines of a channel are joined before the engine reads them.
 *
 * - `records`: one JSON record per line.
 * - `documents`: also documents that start at column 0 and run over several lines.
 * - `text`: lines unchanged.
 *
 * The engine never sees a channel that is not listed: its lines are raw. On the PTY, records that
 * were wrapped or torn by a log line are repaired first.
 */
export interface EngineCut {
  readonly stdout?: 'records' | 'documents' | 'text'
  readonly stderr?: 'records' | 'documents' | 'text'
  readonly pty?: 'records' | 'documents' | 'text'
  /**
   * What was sent to the agent: `records` of a wire for `EngineReader.sent`, or `text`, all of it one
   * prompt. If the agent can take both, a function that is shown the records of stdin and of stdout until
   * it knows. Text that looks like a record is text.
   * @default 'text'
   */
  readonly stdin?:
    | 'records'
    | 'text'
    | ((frame: Pick<EngineFrame, 'channel' | 'value'>) => 'records' | 'text' | undefined)
  /** `['Name']`: blocks from `<Name>` to `</Name>` are frames of kind `tag`, even within a line. */
  readonly blocks?: readonly string[]
  /** First keys of documents that may follow other text on a line: `['answer']` for `Done. {"answer": …`. */
  readonly glued?: readonly string[]
  /**
   * Whether this document may be the last thing the program writes, without a line end (`isRecord(document)
   * && 'answer' in document`): it is read at its closing bracket, and what follows it is another line.
   */
  whole?(document: unknown): boolean
}

/**
 * What an engine reads: a frame of whole lines. `kind` is `line` for a record on one line, `object` for a
 * document on several, `tag` for a block, `text` for any other line.
 */
export interface EngineFrame extends Frame {
  /** The parsed JSON of a `line`, `object` or `tag` frame; `undefined` for text. Parsed once, here. */
  readonly value?: unknown
  /** Blank lines before the frame that are included in its range. */
  readonly blanks?: string
  /** Set if it is on the same line as the frame before it: the blanks between the two, often none. */
  readonly glue?: string
  /**
   * True if the line of this record was torn, or had something else on it; `breaks` if it is on several lines
   * because a string in it has raw line breaks.
   */
  readonly mended?: true | 'breaks'
  /** The PTY lines that it was made from, if it is not just one: another channel may have them unchanged. */
  readonly pieces?: readonly string[]
  /**
   * Set if the PTY has this record and the pipes do not. It may come late, so it is no part of the message
   * that the other records write now. Of several such records in a row one is `first` and one `last`, if the
   * end of the row was seen.
   */
  readonly extra?: { readonly first: boolean; readonly last: boolean }
}

/** What an engine can report about a tool call. */
export interface CallFacts {
  readonly id: string
  readonly name: string
  /** What the tool does, if the engine says so itself. @default as the engine's `tools` say, else `other` */
  readonly kind?: ToolKind | undefined
  readonly input?: unknown
  readonly output?: unknown
  readonly exit_code?: number | undefined
  readonly error?: string | undefined
  /** Of a call that failed: it was not allowed. @default whether `error` begins as the engine's `denials` */
  readonly denied?: boolean | undefined
  /** How long it took, if the engine reports it. */
  readonly duration_ms?: number | undefined
  /** The call of the subagent that made it. */
  readonly parent?: string | undefined
}

/** What an engine can report about the run as a whole. */
export interface RunFacts {
  readonly model?: string | undefined
  /** The directory that the agent works in. */
  readonly cwd?: string | undefined
  readonly engine_version?: string | undefined
}

/** What an engine can report about a step of the run. */
export interface StatusFacts extends RunFacts {
  /** Token counts in the engine's own format. */
  readonly usage?: unknown
  /** The tokens of this step or turn only; made with `tokensOf`. */
  readonly tokens?: Tokens | undefined
  /** The tokens of this turn so far: for an engine that counts them at the end of the turn. */
  readonly turn_tokens?: Tokens | undefined
  /** The tokens of the session so far, if the engine counts that. */
  readonly tokens_so_far?: Tokens | undefined
  /** The cost of this step or turn only, as the engine reports it; made with `costOf`. */
  readonly cost?: Cost | undefined
  /** The cost of the session so far, if the engine counts that. */
  readonly cost_so_far?: Cost | undefined
  /** The session began with this run: all of `cost_so_far` is the run's own. */
  readonly fresh?: boolean | undefined
  /**
   * The answer of the run, a value that the engine has in a field of its own: it counts like a message that
   * is nothing but this JSON.
   */
  readonly structured_payload?: unknown
  /** What else the engine counts, in its own format. */
  readonly stats?: unknown
  /** The engine's word about the step: `completed`. */
  readonly reason?: string | undefined
  /** The call of the subagent that it is about. */
  readonly parent?: string | undefined
}

/** What an engine can report about a problem. */
export interface ErrorFacts {
  /** Whether the engine says that it will, or could, retry. */
  readonly retryable?: boolean | undefined
  /** The engine's own code for it, a status or a word: it helps to tell the `failure_class`. */
  readonly code?: unknown
  /** With `fatal`: it is how the engine judges its turn, so a later `say.ended` takes it back. */
  readonly verdict?: boolean | undefined
  /** It is printed where the answer should be: the run failed if the turn has no message besides. */
  readonly alone?: boolean | undefined
}

/**
 * A request, as an engine reports it: `id` is the agent's own. Its JSON type counts: agents that asked `0`
 * ignore an answer to `"0"`.
 */
export interface RequestFacts extends Omit<AgentRequest, 'id'> {
  readonly id: unknown
  /** The name of the record that asks, for `reason` and the evidence: `session/request_permission`. */
  readonly signal: string
}

/** What `say.turnOver` returns: what the turn has shown of requests and of the client. */
export interface TurnEnd {
  /** The client sent an interrupt, or chose to cancel. */
  readonly interrupted: boolean
  /** By the id of the call: the kind of option that was chosen, if seen. With none it is `reject_once`. */
  readonly answers: ReadonlyMap<string, RequestOption['kind'] | undefined>
}

/** What the tools of an engine do: their names, separated by blanks, by kind. Any other tool is `other`. */
export type ToolTable = { readonly [K in ToolKind]?: string }

/** Words of an engine's errors, and the class of failure they stand for: the first that fits counts. */
export type FailureTable = readonly (readonly [FailureClass, RegExp])[]

/**
 * What an engine can report. Each call becomes an event (or evidence) about the current frame; numbering, the
 * session id, dedupe, "started" and the end are handled by the caller.
 *
 * @example
 * say.session(record.thread_id)
 * say.message(item.id, item.text)
 */
export interface Say {
  /** The session of this run. The first call starts the conversation, and reports `facts`. */
  session(id: unknown, facts?: RunFacts): void
  /** A step of the run: `turn_started`, `turn_completed`, `step_start`, … */
  status(status: string, more?: StatusFacts): void
  /** What the user told the agent: the prompt, or a later turn. Each one once. */
  user(text: string): void
  /**
   * A piece of a message or of a thought; the pieces of one id are one text. A thought that is empty, or that
   * only the PTY has (it would come out of order), is not reported.
   */
  piece(of: 'message' | 'reasoning', id: string, text: string, more?: Pick<MessageFacts, 'parent'>): void
  /**
   * A finished assistant message. Without `text` it consists of the pieces reported so far under this id
   * (nothing, if there are none); an empty `text` does not take them back, only `withdrawn` does. Only this
   * text is searched for payloads and the done marker.
   */
  message(id: string | undefined, text?: string, more?: MessageFacts): void
  /**
   * A whole thought. Without `text` it consists of the pieces reported so far under this id, as a message
   * does. Never searched for payloads.
   */
  reasoning(id: string | undefined, text?: string, more?: Pick<MessageFacts, 'parent' | 'incomplete'>): void
  /** A new id for a message or a thought that has none, as `message` uses: no other one has it. */
  newId(of?: 'message' | 'reasoning'): string
  /**
   * A tool call has `started`, is `completed` or has `failed`; if its start was not reported, it is started
   * first. With `input`, the facts have a piece of its arguments as their input, before it starts: one that
   * is empty, without an id of the call, or only on the PTY, is not reported.
   */
  call(state: 'input' | 'started' | 'completed' | 'failed', call: CallFacts): void
  /** The engine claims to have changed a file; `diff` is a unified diff, if the engine has one. */
  artifact(change: 'created' | 'modified' | 'deleted', path: string, diff?: string): void
  /** The engine reports a problem. `fatal` is the error flag: the run failed. */
  error(message: string, severity?: Severity, more?: ErrorFacts): void
  /** The parser reports something about this frame. */
  warning(code: Code, message?: string, severity?: Severity): void
  /**
   * The turn `begins`: the end of the turn before no longer counts, nor does the done marker. It `goes on`
   * after an end or a failure that the engine reported (it retried, its question was answered): neither
   * counts any more. Its answer was `cut`, for a `reason` (a limit of tokens: `length`, `max_tokens`):
   * unless another message follows, the run did not end well. For its end see `ended` and `turnOver`.
   */
  turn(what: 'begins' | 'goes on' | 'cut', reason?: string): void
  /**
   * The turn has ended well, as the engine says by the record of this name (`turn.completed`); a turn that
   * failed has an `error` that is `fatal`. Unless the work is done or the turn failed, an event says that the
   * agent waits for input. `answer`: the words of its result, which are searched for payloads as well, unless
   * they only repeat the last message.
   */
  ended(signal: string, answer?: string): void
  /** The agent asks the user, and waits. A run that ends before that is settled needs input. */
  asks(request: RequestFacts): void
  /**
   * The agent no longer waits for an answer: to this request, or about this call, because it works on it.
   * Without either it works on something else. Returns true if the user was seen to turn this call down.
   */
  settles(what?: { readonly request?: unknown; readonly call?: string | undefined }): boolean
  /**
   * For an engine that calls `asks` or `sent`, besides `ended` or `error`: the turn is over, well or not.
   * Requests that are open are settled, and the next prompt of stdin begins. `interrupted` if its end says
   * that it was stopped.
   */
  turnOver(how: 'well' | 'failed' | 'interrupted'): TurnEnd
  /**
   * Only in `EngineReader.sent`, which returns its result (`return say.sent('prompt', text)`): what the
   * client sends. A prompt that was sent during a turn is kept until that is over; an answer may be read
   * before its request. An answer has the id of the request, the chosen option, if it is one of them, and
   * `words` with its texts at any level.
   */
  sent(
    ...what:
      | [what: 'prompt', text: string]
      | [what: 'answer', request: unknown, option?: string | undefined, words?: unknown]
      | [what: 'interrupt']
  ): true | 'kept'
  /** The engine does not know this type of record. Return false afterwards, so that it is kept. */
  unknownType(name: string): void
  /**
   * Reports the keys of `record` that are not in `known`, and keeps the record as raw then, too. In
   * `'type id:text state=done|failed'` also a kind of value is wanted (text, number, flag, record, list), or
   * one of some words: any other is reported as well. Null has every kind. With `*` in the list, other fields
   * are not reported.
   */
  fields(record: object, known: string): void
  /** How certain the engine is of what it reports from here on about this frame. @default 0.95 */
  confidence(value: number): void
  /** Report about these bytes instead of the current frame. For frames that were kept until later. */
  about(range: { readonly channel: Channel; readonly from: number; readonly to: number }): void
  /** Gives back a kept frame as raw. The next reports are about the current frame again. */
  giveBack(frame: EngineFrame): void
}

/** What an engine can report about a message. */
export interface MessageFacts {
  /** The call of the subagent that wrote it. */
  readonly parent?: string | undefined
  /** The text was taken out of an envelope of the engine; a payload in it counts as repaired. */
  readonly enveloped?: boolean | undefined
  /** The message was cut off. */
  readonly incomplete?: boolean | undefined
  /** The pieces reported under its id were no message: they are never joined to one. */
  readonly withdrawn?: boolean | undefined
}

/**
 * Reads the frames of one run. Created for each run, so its closure may hold state.
 *
 * `read` returns true if it understood the frame (one without any report is kept as raw, silently), false if
 * not (kept as raw, with a warning), and `'kept'` if it will report about it later, at the latest in `end`.
 */
export interface EngineReader {
  read(frame: EngineFrame, say: Say): boolean | 'kept'
  /** Reads a record that was sent to the agent, with the same answers as `read`; without it, all are raw. */
  sent?(frame: EngineFrame, say: Say): boolean | 'kept'
  /** The input has ended; the exit code is not considered yet. */
  end?(say: Say): void
  /**
   * For a reader that keeps what looks like the end of the run, because more may follow: true as long as it
   * does. `endAfter` of `run()` counts from then, as it does from `say.ended`.
   */
  over?(): boolean
}

/**
 * What a reader is opened with: how much it may keep, and whether its engine was named.
 *
 * @example
 * const open: Engine['open'] = ({ maxFrame }) => readerThatKeepsAtMost(maxFrame)
 */
export interface ReaderOptions {
  /** Characters of text that the reader may keep: the number of `maxFrame` of `events()`. */
  readonly maxFrame: number
  /**
   * The caller has named this engine, so `auto` did not pick it: a record may be read as its own though it
   * lacks some of the fields by which `auto` would recognise it.
   * @default false
   */
  readonly named?: boolean | undefined
}

/**
 * Whether a record of a named engine may lack fields: it is a whole line or document of its own on the
 * channel of the protocol, not a piece that was put together from torn lines, and not on stderr. A raw line
 * break in one of its strings does not tear it.
 *
 * @example
 * if (isOwn(frame.value) || (isLenient(frame, limits) && hasLeast(frame.value))) readRecord(frame.value)
 */
export function isLenient(frame: EngineFrame, { named }: ReaderOptions): boolean {
  if (!named || frame.kind === 'text' || frame.kind === 'tag' || frame.channel === 'stderr') return false
  return frame.mended !== true && frame.pieces === undefined && frame.glue === undefined
}

/**
 * One engine.
 *
 * @example
 * const toy: Engine = {
 *   name: 'toy', parser: 'toy_ndjson', cut: { stdout: 'records', pty: 'records' },
 *   shape: (frame) => isRecord(frame.value) && frame.value['toy'] === 1,
 *   open: () => ({ read(frame, say) { say.message(undefined, String(frame.value)); return true } }),
 * }
 */
export interface Engine {
  readonly name: string
  /** The name of the dialect, for `source.parser`. */
  readonly parser: string
  /** How the lines of its channels are joined to records. */
  readonly cut: EngineCut
  /** A line about it for people, as `sluice engines` prints it: its modes and versions. */
  readonly about?: string
  /**
   * It reads session files, which the agent may still be writing: a cut record at the end is no failure.
   * @default false
   */
  readonly growing?: boolean
  /** Words of its errors, and what they mean: looked at before the words that we know of all engines. */
  readonly failures?: FailureTable
  /** What its tools do: `{ read: 'Read LS', execute: 'Bash' }`. */
  readonly tools?: ToolTable
  /** Tests the error of a failed call: `/^User rejected/` if it was not allowed, by a person or a rule. */
  readonly denials?: Pick<RegExp, 'test'>
  /**
   * How `auto` recognises the engine: true if no other program writes such a frame, `'weak'` if it is
   * probably this engine's, but others write such records, too.
   */
  shape?(frame: EngineFrame): boolean | 'weak'
  /**
   * The task in a command line of the agent, if it is there. The first word is the program.
   * @default as that of our engine of this name
   */
  task?(argv: readonly string[]): string | undefined
  /**
   * How `reply()` continues a session: the command line of its next turn, whose prompt goes to stdin.
   * Undefined if a run that was started in this way cannot be continued.
   * @default as that of our engine of this name
   */
  resume?(last: LastTurn): readonly string[] | undefined
  /** How to speak with the agent while it works (`talk`). @default that of our engine of this name */
  readonly wire?: Wire
  /** Makes the reader of a run. It must keep no more text than `limits.maxFrame`. */
  open(limits: ReaderOptions): EngineReader
}

/** The turn that is continued. */
export interface LastTurn {
  /** Its command line; the first word is the program. */
  readonly argv: readonly string[]
  readonly session: string
  /** Its prompt was on stdin, so none is in `argv`. */
  readonly piped?: boolean | undefined
}

/** An engine that inspects the first frames and picks another one. */
export interface Picker {
  readonly name: string
  readonly parser: string
  readonly cut: EngineCut
  readonly about?: string
  /** The engine this frame belongs to, if that is certain. */
  pick(frame: EngineFrame): Engine | undefined
  /** The engine this frame may belong to. The first guess counts only if no later frame is certain. */
  guess?(frame: EngineFrame): Engine | undefined
  /** The engine to use if nothing was recognised. */
  readonly fallback: Engine
}

/**
 * A JSON object: the shape nearly every check starts with.
 *
 * @example
 * if (!isRecord(frame.value)) return false
 */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The string, or undefined for anything else.
 *
 * @example
 * say.message(asText(record['id']), asText(record['text']) ?? '')
 */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

const kinds: ToolKind[] = ['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'other']

/** What a tool does, by its name, as the table of an engine says. Read once: a run has many calls. */
export function kindsByName(table: ToolTable = {}): ReadonlyMap<string, ToolKind> {
  return new Map(kinds.flatMap((kind) => (table[kind]?.split(' ') ?? []).map((name) => [name, kind])))
}

/** The kind that an agent names itself; any other word is `other`. */
export function readToolKind(word: string): ToolKind {
  return kinds.find((kind) => kind === word) ?? 'other'
}
