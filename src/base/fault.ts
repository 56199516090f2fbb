/** Default message of each code, as far as the tables below are in use. */
const meanings: Record<string, string> = {}
/** What to do about a fault, shown on the console. */
export const nextSteps: Record<string, string> = {}

/** Only codes that are thrown or make an outcome fail have a next step; the message says what was found. */
function spoken<Table extends Readonly<Record<string, string>>>(
  table: Table,
  steps: { readonly [K in keyof Table]?: string } = {},
): Table {
  Object.assign(meanings, table)
  Object.assign(nextSteps, steps)
  return table
}

// Three tables, each pure for bundlers: a bundle has only those that it uses, and a Fault without a message
// shows its code there. All of them are 5 KB.

/** The codes of misuse, payloads and frames. */
export const payloadCodes = /* @__PURE__ */ spoken(
  {
    // Misuse: thrown at once, before any byte flows.
    BAD_OPTION: 'an option has a value that cannot be used',
    BAD_CHUNK: 'a chunk is neither bytes, nor text, nor a Chunk',
    BAD_SCHEMA: 'the schema cannot be compiled or validates asynchronously',
    BAD_STATE: 'the call comes too late, or too early',

    // A payload fails with these.
    EMPTY: 'the input is empty or blank',
    NO_MATCH: 'no payload was found in the input',
    TRUNCATED: 'the input ended inside the payload',
    INVALID_JSON: 'the payload is not JSON and could not be repaired',
    ROOT_NOT_OBJECT: 'the payload is JSON, but its root is not an object',
    SCHEMA_FAILED: 'the payload is JSON, but the schema rejects it',
    NORMALIZE_FAILED: 'a normalizer threw on every candidate',
    MAX_DEPTH: 'the payload is nested deeper than allowed',
    PROTO_KEY: 'the payload has a key that could change a prototype',

    // Notes about a payload or a frame.
    OUTPUT_REPAIRED_GENERIC: 'the payload was repaired by deterministic rules',
    REPAIR_SKIPPED: 'the payload is larger than the repair limit, so repair was not tried',
    AMBIGUOUS: 'more than one candidate passes, and one had to be chosen',
    TAG_UNCLOSED: 'the value is complete, but its closing tag is missing',
    THINK_UNCLOSED: 'the payload is in a think block that was never closed',
    THINK_OPEN: 'the payload is in a think block that had not been closed when the payload was emitted',
    THINK_LATE: 'what was emitted before this is a thought: a lone closing tag followed it',
    FENCE_UNCLOSED: 'the payload is in a fence that was not closed before the next one opened',
    LOOSE_MATCH:
      'the payload was found by the last resort: it is not JSON, and nothing marks it as the answer',
    FRAME_TOO_LONG: 'a frame grew past maxFrame and was passed on as text',
    INVALID_UTF8: 'bytes that are not UTF-8 were replaced by U+FFFD',
    NUL_BYTES: 'NUL bytes at the start of a line were skipped',
    PRECISION_LOSS: 'a number cannot be represented exactly as a JavaScript number',
    DUPLICATE_KEY: 'an object has the same key twice; the last one wins',
  } as const,
  {
    BAD_OPTION: 'change the call; the message says what it accepts',
    BAD_CHUNK: 'write Buffers, Uint8Arrays, strings or chunks of tap() to this stream',
    BAD_SCHEMA: 'give a Standard Schema that validates synchronously, or a JSON Schema object',
    BAD_STATE: 'call it earlier, or not at all; the message says why',
    EMPTY: 'look at stderr and the exit code of the agent: it printed nothing here',
    NO_MATCH: 'outcome.comment has the text that came instead; check tag, lines and root',
    TRUNCATED: 'ask for a shorter answer or allow more tokens; partial: true returns what has arrived',
    INVALID_JSON: 'fault.broken has the position; ask() asks again by itself',
    ROOT_NOT_OBJECT: "give a schema, or root: 'any'",
    SCHEMA_FAILED: 'look at fault.errors; change the schema, or ask again with the errors',
    NORMALIZE_FAILED: 'look at the cause and at fault.value: a function in normalize threw',
    MAX_DEPTH: 'raise maxDepth if such a payload is wanted',
    PROTO_KEY: "protoKeys: 'remove' removes such keys",
  },
)

/** The codes of notes about a run. */
export const runCodes = /* @__PURE__ */ spoken({
  RAW_LINE: 'a line was not understood and is kept as raw',
  LOW_CONFIDENCE_PARSE: 'the classification is a guess',
  UNKNOWN_TYPE: 'a record of a type this parser does not know is kept as raw',
  UNKNOWN_FIELD: 'a record has a field this parser does not know',
  PTY_STREAM_MISMATCH: 'the PTY has a record that stdout lacks',
  LATE_DUPLICATE_POSSIBLE: 'the dedupe window overflowed, so a late duplicate may be emitted again',
  COMPLETION_CONFLICT: 'the evidence on how the run ended disagrees',
  ENGINE_UNKNOWN: 'the records match no known engine, so all of them are kept as raw',
  ENGINE_ERROR: 'the engine reported an error',
  PIPE_HELD_OPEN: 'the process ended, but another process still holds its pipe open',
  LEFT_RUNNING: 'the run was ended, but a process that the agent had started runs on',
  TASK_CUT: 'the recorder was killed before the agent had got its whole task',
  ARTIFACT_REJECTED: 'a path leaves the run directory or cannot be used',
  ARTIFACT_MISSING: 'the engine claims a file that is not there',
  DIFF_MISSING: 'the working tree could not be compared, or not all of it',
  END_UNKNOWN: 'nothing says how the run ended',
  DRIFT_REPORT: 'types and fields this parser does not know, with their counts',
  RUN_TIMEOUT: 'the process ran longer than allowed and was ended',
  RUN_IDLE: 'the process was silent longer than allowed and was ended',
  RUN_LIMIT: 'the run used more than it was allowed to and was ended',
  LIMIT_PASSED: 'the run used more than it may, but its agent told that too late to end it',
  LIMIT_BLIND: 'a limit cannot hold, because the agent does not report what it limits',
  TEXT_MODE: 'the agent was started in its text mode, which tells neither its session nor its end',
  RUN_LINGERED: 'the process reported its end but did not exit, so it was ended',
  REQUEST_EXPIRED: 'nobody answered a request of the agent in time, so it was rejected',
  TALK_FAILED: 'the agent refused the session or the prompt, or did not get all that was sent',
  SESSION_CHANGED: 'the agent did not continue the session that it was given, but another one',
  RUN_INTERRUPTED: 'the process was ended because the user asked for it',
  LOG_RESTARTED: 'a followed log was truncated or replaced and is read again from its start',
  LATEST_NOT_LINKED: 'the link to the newest run could not be made',
  PROFILE_FAILED: "the engine's code threw an error, so its input is kept as raw",
} as const)

/**
 * All codes, shared by faults (thrown, or carried by a failed outcome) and notes (data), and what each means.
 * A message adds what was found and where; docs/codes.md says what to do.
 *
 * @example
 * console.log(codes.TRUNCATED) // 'the input ended inside the payload'
 */
export const codes = /* @__PURE__ */ allCodes()

function allCodes() {
  const others = spoken(
    {
      // Sinks, runs and the server fail with these.
      JOURNAL_LOCKED: 'another process writes this journal',
      JOURNAL_FAILED: 'the journal cannot be written',
      JOURNAL_MISMATCH: 'the journal is damaged, or has other events than the ones that arrive',
      SSE_FIELD: 'an SSE id or event name has a CR, LF or NUL in it',
      CANNOT_REPLY: 'the run cannot be continued',
      ORDER_REFUSED: 'the run does not take this order',
      SPAWN_FAILED: 'the command cannot be started',
      PTY_MISSING:
        'the optional package for pseudo-terminals is not installed, or does not work in this runtime',
      RECORD_FAILED: 'the raw output of the process cannot be recorded',
      NOT_AN_AUDIT: 'the directory has no logs of a run',
      OUTPUT_FAILED: 'the output of the command cannot be written',

      // Shipping runs fails with these.
      BROKER_MISSING: 'the optional packages for NATS are not installed',
      BROKER_FAILED: 'the broker cannot be used, or does not allow what was asked',
      BROKER_GAP: 'events of a run are missing at the broker',
      RUN_REFUSED: 'the run is not sent to NATS: other events of it are there, or it cannot be sent whole',

      // Faults and notes of an answer.
      COMMAND_FAILED: 'the command failed, or gave no answer in time',
      RESULT_CACHED: 'the result was taken from the cache, and nothing was run',
      CACHE_FAILED: 'the cache could not be read or written, so it was not used',

      // Notes about the result of a worker.
      BAD_ORDER: 'the work order lacks a field or has a value that cannot be used',
      WORK_NO_RESULT: 'the worker left nothing that says what it did',
      WORK_FILE_REFUSED: 'a result file is not a small regular file, or it changed while it was read',
      WORK_FILE_STALE: 'a result file is left over from before the run and does not count',
      WORK_RESULT_BROKEN: 'a result file cannot be parsed',
      WORK_FIELD_MISSING: 'a required field is missing or blank',
      WORK_FIELD_INVALID: 'a field has a value that cannot be used',
      WORK_FIELD_TWICE: 'a field is given twice, so it is not known which one counts',
      WORK_ISSUE_MISMATCH: 'the result names another issue than the order',
      WORK_RUN_MISMATCH: 'the result names another run than the active one',
      WORK_UNTRUSTED: 'the only evidence is what the worker said, which is never enough to advance',
      WORK_INTERRUPTED: 'the worker was ended before it was done',
      WORK_RESULT_TWICE: 'another result of this run was posted before, so this one is archived',
      OUTBOX_FAILED: 'the result could not be posted to the outbox',
      LEDGER_FAILED: 'the ledger of active runs could not be read or written',
      AUDIT_FAILED: 'the audit cannot be written',
    } as const,
    {
      JOURNAL_LOCKED:
        'wait for the process that the message names, as resume(dir) does, or use another directory',
      JOURNAL_FAILED: 'free disk space, or use another directory; what was written is whole',
      JOURNAL_MISMATCH: 'use a fresh directory, or give the runId and attempt of this one',
      SSE_FIELD: 'remove line breaks and NUL from run ids and event names',
      CANNOT_REPLY: 'start a new run; the message says why this one cannot be continued',
      ORDER_REFUSED: 'start the run with control (--control); the message says why this order does nothing',
      SPAWN_FAILED: 'check the command, PATH and cwd',
      PTY_MISSING: 'npm install @lydell/node-pty, and use Node or Deno; or run without pty',
      RECORD_FAILED: 'free disk space, or use another audit directory',
      NOT_AN_AUDIT: 'name a directory of sluice run, or a log file',
      OUTPUT_FAILED:
        'free disk space, or write elsewhere; npx agent-sluice replay --resume completes the events',
      BROKER_MISSING: 'npm install @nats-io/transport-node@3 @nats-io/jetstream@3',
      BROKER_FAILED: 'check the address, the user and its permissions (docs/hosts.md)',
      BROKER_GAP: 'look at the limits of the stream; the journal on its host has the whole run',
      RUN_REFUSED: 'ship it under another tenant or run id; the journal on this host is whole',
      COMMAND_FAILED: 'run the command by hand and look at its stderr',
      BAD_ORDER: 'fix the order; the message names the field',
      OUTBOX_FAILED: 'look at the cause; the result is settled and can be posted again',
      LEDGER_FAILED: 'look at the cause; nothing was changed',
      AUDIT_FAILED: 'free disk space, or use another audit directory',
    },
  )
  return { ...payloadCodes, ...runCodes, ...others } as const
}

/** A key of `codes`; docs/codes.md says what to do about each. */
export type Code = keyof typeof codes

/** What the code means; the code itself in a bundle that has no use for its table. */
export function meaningOf(code: Code): string {
  return meanings[code] ?? code
}

/**
 * One change that a repair made to a payload.
 *
 * @example
 * // {"a":1,}
 * const change: RepairChange = { kind: 'dropped a comma', at: 6, before: ',', after: '' }
 */
export interface RepairChange {
  /** What was done, in words: `dropped a comma`, `added a missing quote`, … */
  readonly kind: string
  /** Byte offset in the channel where the change begins. */
  readonly at: number
  /** What the input had there, at most 40 characters of it. */
  readonly before: string
  /** What the repair put there, at most 40 characters of it. */
  readonly after: string
}

/**
 * Something worth reporting. Data, never thrown.
 *
 * @example
 * outcome.notes.map((note) => note.code) // ['OUTPUT_REPAIRED_GENERIC']
 */
export interface Note {
  readonly code: Code
  readonly message: string
  /** Byte offset in the channel where it starts, if the note has a place. */
  readonly at?: number
  /** For OUTPUT_REPAIRED_GENERIC: every change of the repair, in order. */
  readonly changes?: readonly RepairChange[]
  /** For AMBIGUOUS: byte offsets of the candidates that pass, the first 16. */
  readonly places?: readonly number[]
}

/** One rule of a schema that a value breaks. */
export interface SchemaError {
  /** Where in the value, as a JSON pointer: `/issues/0/line`, or `` for the root. */
  readonly path: string
  /** Which rule: `required`, `minimum`, … */
  readonly rule: string
  /** What the rule wanted and what was found, in a few words. */
  readonly message: string
}

/**
 * Where a payload stops being JSON.
 *
 * @example
 * // {"a": [1, 2}
 * const broken: Breakage = { line: 1, column: 12, found: '}', expected: 'a comma or a closing bracket' }
 */
export interface Breakage {
  /** From 1, in the payload. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
  /** What is there instead, at most 20 characters; empty at the end. It is untrusted text of the agent. */
  readonly found: string
  /** What JSON allows there, in words. */
  readonly expected: string
}

/** An item of `fault.attempts`: one answer to `ask()` that did not pass. */
export interface FailedAttempt {
  /** The start of the answer, bounded. */
  readonly text: string
  /** Why it did not pass. */
  readonly fault: Fault
  readonly duration_ms: number
}

/** What a Fault may carry besides its code and message. */
export interface FaultDetails {
  readonly cause?: unknown
  readonly errors?: readonly SchemaError[]
  /** For INVALID_JSON and TRUNCATED: where the payload breaks, if known. */
  readonly broken?: Breakage
  /** The parsed value that failed, where there is one (NORMALIZE_FAILED). */
  readonly value?: unknown
  /** Byte offset: in the channel, where the payload breaks, or else begins; or of an event in its journal. */
  readonly at?: number
  /** The caller's name for the payload (the option `label`). */
  readonly label?: string
  /** For `ask`: every answer that did not pass, in order. */
  readonly attempts?: readonly FailedAttempt[]
}

const MAX_MESSAGE = 500
const brand = Symbol.for('agent-sluice.Fault')
/** The symbol that Node's `inspect` looks for; it works without importing Node. */
const inspected: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never
const SHORT = { depth: 1, maxArrayLength: 5, maxStringLength: 200, breakLength: 100 }

/**
 * The only error this package throws. `code` is stable; the message is for people and bounded.
 * `FaultDetails` explains the other fields.
 *
 * @example
 * try { parse(text) } catch (error) { if (Fault.is(error)) console.warn(error.code) }
 */
export class Fault extends Error {
  declare readonly name: 'Fault'
  declare readonly code: Code
  // Declared, not defined: a field that is not set must not appear on the console or in JSON.
  declare readonly errors?: readonly SchemaError[]
  declare readonly broken?: Breakage
  declare readonly value?: unknown
  declare readonly at?: number
  declare readonly label?: string
  declare readonly attempts?: readonly FailedAttempt[]

  constructor(code: Code, message: string = meaningOf(code), details: FaultDetails = {}) {
    // A schema or a file name may have put control characters into the message.
    super(visible(clip(message, MAX_MESSAGE)), 'cause' in details ? { cause: details.cause } : undefined)
    this.name = 'Fault'
    this.code = code
    if (details.errors) this.errors = details.errors
    if (details.broken) this.broken = details.broken
    if ('value' in details) this.value = details.value
    if (details.at !== undefined) this.at = details.at
    if (details.label !== undefined) this.label = details.label
    if (details.attempts) this.attempts = details.attempts
  }

  /** Node prints the code, the place and the next step, and leaves out fields that are not set. */
  [inspected](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    return describeFault(this, (value) => inspect(value, { ...options, ...SHORT, colors: false }))
  }

  /** For logs: an Error leaves its message out of JSON. The cause can be anything, so it is not in it. */
  toJSON(): object {
    const { name, code, message } = this
    return Object.assign({ name, code, message }, this)
  }

  /**
   * True for a Fault of any copy of this package: the ESM and the CommonJS build each have their own
   * class, so `instanceof` is not enough.
   */
  static is(error: unknown): error is Fault {
    return typeof error === 'object' && error !== null && brand in error
  }
}

// On the prototype, not in the constructor: hostile input creates a Fault for every line.
Object.defineProperty(Fault.prototype, brand, { value: true })

/** The Fault for a call or a command line that cannot be used as it is. */
export function badOption(message: string, details?: FaultDetails): Fault {
  return new Fault('BAD_OPTION', message, details)
}

function describeFault(fault: Fault, show: (value: unknown) => string): string {
  const { code, message, stack = '', at, broken, errors = [], attempts = [], cause } = fault
  const calls = stack.indexOf('\n    at ')
  const lines = [`Fault [${code}]: ${message}${calls < 0 ? '' : stack.slice(calls)}`]
  const add = (name: string, text: string) => lines.push(`  ${name}: ${text.replaceAll('\n', '\n  ')}`)
  const place = [
    ...(at === undefined ? [] : [`byte ${at}`]),
    ...(broken ? [`line ${broken.line}, column ${broken.column} of the payload`] : []),
  ]
  if (place.length > 0) add('where', place.join(', '))
  if (broken) add('found', `${quote(broken.found)}, expected ${broken.expected}`)
  for (const { path, rule, message } of errors) add('error', `${path || '/'} (${rule}): ${message}`)
  for (const [n, { fault: failed }] of attempts.entries())
    add(`attempt ${n + 1}`, `${failed.code}: ${failed.message}`)
  if ('value' in fault) add('value', show(fault.value))
  // An error that was thrown elsewhere may have control characters in its message.
  if (cause !== undefined) add('cause', show(cause).split('\n').map(visible).join('\n'))
  if (Object.hasOwn(nextSteps, code)) add('next', nextSteps[code]!)
  return lines.join('\n')
}

/**
 * Makes untrusted text safe for a message: at most `max` characters, control characters as `\u001b`,
 * so that it can neither flood nor control a terminal or a log.
 *
 * @example
 * quote('a\u001b[2Jb') // '"a\\u001b[2Jb"'
 */
export function quote(text: string, max = 40): string {
  return `"${visible(clip(text, max))}"`
}

/**
 * Bounded text with every character that could control a terminal or forge a log line written as `\u001b`. A
 * loop and not a regular expression: faults are rare, so the compiled expression is never in the cache, and
 * compiling takes some µs.
 */
export function visible(text: string): string {
  let shown = ''
  let done = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 0x20 && unit < 0x7f) continue
    if (!isUnsafe(unit)) {
      // A surrogate pair, or half of one.
      if ((unit & 0xf800) !== 0xd800) continue
      if (unit < 0xdc00 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) {
        at++
        continue
      }
    }
    shown += `${text.slice(done, at)}\\u${unit.toString(16).padStart(4, '0')}`
    done = at + 1
  }
  return done === 0 ? text : shown + text.slice(done)
}

/** C0, DEL, C1, line separators, bidirectional marks and overrides. */
function isUnsafe(unit: number): boolean {
  return (
    unit < 0x20 ||
    (unit >= 0x7f && unit <= 0x9f) ||
    unit === 0x61c ||
    unit === 0x200e ||
    unit === 0x200f ||
    (unit >= 0x2028 && unit <= 0x202e) ||
    (unit >= 0x2066 && unit <= 0x2069)
  )
}

/** Cuts text to `max` characters and marks the cut. Never leaves half a surrogate pair behind. */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text
  const end = /[\ud800-\udbff]/.test(text[max - 2] ?? '') ? max - 2 : max - 1
  return `${text.slice(0, end)}…`
}

/**
 * Calls `make` with stack traces off, so that errors it creates or throws have none. Taking a trace costs
 * more than reading a line, and hostile input creates an error for every line. Only for errors that are data,
 * or that are caught at once.
 *
 * @example
 * try { return withoutStack(JSON.parse, text) } catch { return undefined }
 */
export function withoutStack<In, Out>(make: (input: In) => Out, input: In): Out {
  if (!isWritable) return make(input)
  const { stackTraceLimit = 0 } = errors
  errors.stackTraceLimit = 0
  try {
    return make(input)
  } finally {
    errors.stackTraceLimit = stackTraceLimit
  }
}

/** What `act` returns, or `otherwise` if it throws. */
export function orElse<T, E>(act: () => T, otherwise: E): T | E {
  try {
    return act()
  } catch {
    return otherwise
  }
}

/** Only V8 has a limit of the trace. */
const errors: ErrorConstructor & { stackTraceLimit?: number } = Error
/** False where the intrinsics are frozen. */
const isWritable =
  /* @__PURE__ */ Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')?.writable === true
