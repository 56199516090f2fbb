import { jsonValue } from '../json/strict.ts'
import { SPACE } from '../text/characters.ts'
import { askWords, callSubject } from './call-words.ts'
import type { AgentEvent, CompletionData, EventOf, EventParser, RawRef } from './event.ts'
import { MAX_TITLE, type Problem, problemAt, problemOf } from './problems.ts'
import { endPhrase, failureKind, isGood, outcomeOf } from './run-outcome.ts'

/** Calls and requests to remember that have not ended: the last one counts, and each may be large. */
const MAX_OPEN = 8
const MAX_STDERR = 3
/** Lines to look at for an error, at the start and at the end. */
const MAX_LINES = 64
/** A line that is longer is kept only if its start looks like an error. */
const MAX_KEPT = 1024
/** Characters that are its start. */
const MAX_START = 256

/**
 * Finds out, event by event, what caused the end of an attempt: the sentence in `problem` of its last event,
 * which is made here and nowhere else. A failed tool is not the cause if the agent continued after it; an
 * error of the engine is, unless the engine continued after it. If the engine reports no error, a call that
 * did not finish comes first, then a line that reads like an error, then the end itself.
 */
export class Cause {
  /** The first error of the engine that it did not recover from; it never recovers from a fatal one. */
  #engine: Problem | undefined
  #fatal: Problem | undefined
  /** The first error of the engine, whether it recovered or not. */
  #engineEver: Problem | undefined
  /** The first failed call that the agent did not continue after. */
  #tool: AgentEvent | undefined
  /** The event of the first problem, whether the run recovered or not. */
  #earliest: AgentEvent | undefined
  /** The event of the last problem, except the end. */
  #latest: AgentEvent | undefined
  /** Output that stops in the middle. */
  #cut: Problem | undefined
  #result: Problem | undefined
  /** The limit that ended it. */
  #limit: Problem | undefined
  /** Who stopped it, and why nothing was understood: each explains an end of its own. */
  #stopped: Problem | undefined
  #unread: Problem | undefined
  #source: EventParser | undefined
  /** The first and the last lines that no engine understands; of long ones those that look like errors. */
  readonly #firstLines: (RawLine | undefined)[] = []
  /** In a ring: the next one goes to `#lines % MAX_LINES`. */
  readonly #lastLines: (RawLine | undefined)[] = []
  #lines = 0
  /** The last one that is not blank. */
  #lastLine: RawLine | undefined
  readonly #stderr: RawLine[] = []
  /** The conversation began: what comes before is about the start of the program. */
  #begun = false
  #inTurn = false
  #inMessage = false
  /** Where bytes were last understood. */
  #lastRef: RawRef | null = null
  /** Calls that did not end, and requests that nobody answered. */
  readonly #calls = new Open<EventOf<'tool.call.started'>>()
  readonly #asked = new Open<EventOf<'lifecycle.run.status'>>()

  /** Called for each event of a run, most of which say nothing here: it must take no time. */
  take(event: AgentEvent): void {
    if (event.raw_ref) this.#lastRef = event.raw_ref
    if (event.correlation.session_id !== undefined) this.#begun = true
    this.#source = event.source
    switch (event.type) {
      case 'agent.message.delta':
        this.#inMessage = true
        return
      case 'agent.reasoning.delta':
      case 'tool.call.input.delta':
        return
      case 'raw.stdout':
      case 'raw.stderr':
      case 'raw.pty':
        this.#line(event)
        return
      case 'tool.call.started':
        this.#calls.add(event.data.call_id, event)
        return
      case 'tool.call.completed':
        this.#calls.remove(event.data.call_id)
        this.#overcome()
        return
      case 'tool.call.failed':
        // An agent may try hundreds of times: what the output says is read at the end, of one of them.
        this.#calls.remove(event.data.call_id)
        this.#tool ??= event
        this.#saw(event)
        return
      case 'agent.message.final':
        this.#inMessage = event.data.incomplete === true
        this.#begun = true
        if (!this.#inMessage) this.#overcome()
        return
      case 'user.message':
        // A new prompt: what failed before may still be recovered from.
        this.#fatal = undefined
        return
    }
    const problem = problemOf(event)
    if (problem) this.#keep(event, problem)
    if (event.type === 'lifecycle.run.status') this.#status(event)
    if (event.type === 'diagnostic.parser.warning') this.#warning(event)
  }

  #warning(event: EventOf<'diagnostic.parser.warning'>): void {
    const { code, message } = event.data
    if (code === 'RUN_INTERRUPTED') this.#stopped = problemAt(event, 'end', message)
    if (code === 'TEXT_MODE' || code === 'ENGINE_UNKNOWN') this.#unread = problemAt(event, 'end', message)
  }

  #status(event: EventOf<'lifecycle.run.status'>): void {
    const { status, request, request_id, by } = event.data
    if (request) {
      this.#asked.add(request.id, event)
      return
    }
    if (request_id !== undefined && by !== 'end') this.#asked.remove(request_id)
    if (status === 'turn_started') {
      this.#inTurn = true
      this.#fatal = undefined
    }
    if (status === 'turn_completed' || status === 'awaiting_user_input') {
      this.#inTurn = false
      this.#overcome()
    }
  }

  #line(event: RawLine): void {
    if (event.type === 'raw.stderr') {
      this.#stderr.push(event)
      if (this.#stderr.length > 2 * MAX_STDERR) this.#stderr.splice(0, MAX_STDERR)
    }
    const { line } = event.data
    if (!isBlank(line)) this.#lastLine = event
    const keep = line.length <= MAX_KEPT || looksLikeError(line.trimStart().slice(0, MAX_START))
    const kept = keep ? event : undefined
    if (this.#firstLines.length < MAX_LINES) this.#firstLines.push(kept)
    else this.#lastLines[this.#lines++ % MAX_LINES] = kept
  }

  /** The first or the last line that no engine understands but that reads like an error. */
  #hint(which: 'first' | 'last'): Problem | undefined {
    const oldest = this.#lines % MAX_LINES
    const last = [...this.#lastLines.slice(oldest), ...this.#lastLines.slice(0, oldest)]
    const near = [...this.#firstLines, ...last]
    for (const kept of which === 'first' ? near : near.reverse()) {
      const title = kept && errorLine(kept.data.line.trim())
      if (kept && title !== undefined) return problemAt(kept, 'output', title)
    }
    return undefined
  }

  #keep(event: AgentEvent, problem: Problem): void {
    switch (problem.kind) {
      case 'end':
        return
      case 'result':
        this.#result = problem
        return
      case 'limit':
        this.#limit = problem
        return
      case 'output':
        this.#cut ??= problem
        return
      default:
        // The reason of a failed turn is often in the same record; then that says more.
        if (this.#engine?.kind === 'turn' && isSamePlace(this.#engine.raw_ref, problem.raw_ref))
          this.#engine = problem
        this.#engine ??= problem
        this.#engineEver ??= this.#engine
        if (event.type === 'diagnostic.engine.error' && event.data.severity === 'fatal')
          this.#fatal ??= problem
    }
    this.#saw(event)
  }

  #saw(event: AgentEvent): void {
    this.#earliest ??= event
    this.#latest = event
  }

  /** The agent continued: earlier problems did not end the run. */
  #overcome(): void {
    this.#engine = this.#fatal
    this.#tool = undefined
  }

  /** The sentence for people about an end; undefined after a good one. */
  sentence(completion: CompletionData): string | undefined {
    const outcome = outcomeOf(completion)
    if (isGood(outcome)) return undefined
    const title = endPhrase(outcome, completion.failure_class)
    return this.first(completion, { kind: 'end', title, attempt: 0, seq: 0, raw_ref: null }).title
  }

  /** What an end that is not good is blamed on; `end` is the end itself. */
  first(completion: CompletionData, end: Problem): Problem {
    const outcome = outcomeOf(completion)
    if (outcome === 'needs_input') return this.#missing(completion, end)
    // The run itself went well: only its result is missing or invalid.
    const invalid = outcome === 'failed' && failureKind(completion) === undefined
    return (invalid ? this.earliest : this.#failure(completion, end)) ?? end
  }

  /** The first problem, whether it decided anything: also of a run that goes on, or ended well. */
  get earliest(): Problem | undefined {
    return this.#result ?? (this.#earliest && problemOf(this.#earliest)) ?? this.#cut
  }

  /** The last error; `failed`: a line that reads like one is enough. */
  last(failed: boolean): Problem | undefined {
    return (this.#latest && problemOf(this.#latest)) ?? (failed ? this.#hint('last') : undefined)
  }

  /** The last lines of stderr. */
  get stderr(): readonly string[] {
    const lines = this.#stderr.map(({ data }) => cut(data.line.trim())).filter((line) => line !== '')
    return lines.slice(-MAX_STDERR)
  }

  /** What a run waits for that needs input. */
  #missing({ evidence }: CompletionData, end: Problem): Problem {
    const asked = this.#asked.first
    const open = asked ?? (evidence?.request === undefined ? undefined : this.#call())
    const words = (open && openWords(open)) ?? evidence?.request
    const title = words === undefined ? NOT_DONE : `it waits for an answer: ${words}`
    return open ? problemAt(open, 'end', title) : { ...end, title: cut(title) }
  }

  /** The call that began last, of those that did not end. */
  #call(): EventOf<'tool.call.started'> | undefined {
    return this.#calls.last
  }

  #failure(completion: CompletionData, end: Problem): Problem | undefined {
    const outcome = outcomeOf(completion)
    if (this.#limit) return this.#limit
    if (outcome === 'cancelled' && this.#stopped) return this.#stopped
    if (outcome === 'unknown' && this.#unread) return this.#unread
    // A turn that was stopped on request, and its calls, failed because of that.
    // A fatal error decides, whatever other channels said before: their order is not always known.
    const engine = this.#fatal && this.#fatal.title !== this.#engine?.title ? this.#fatal : this.#engine
    const other = engine?.kind === 'engine' ? engine : undefined
    const reported = endedItsTurn(completion) ? other : (engine ?? (this.#tool && problemOf(this.#tool)))
    // A turn that failed without a reason says less than a line on stderr.
    if (reported?.kind === 'turn' && !reported.title.includes(':')) return this.#hint('first') ?? reported
    if (reported) return reported
    const { signal, exit_code } = completion.evidence ?? {}
    const call = this.#call()
    if (call) {
      const subject = callSubject(call.data.input)
      const doing = `${call.data.name} ran${subject === '' ? '' : `: ${subject}`}`
      return problemAt(call, 'end', `${endWords(completion)} while ${doing}`)
    }
    const byItself = outcome === 'failed' && typeof signal !== 'string' && exit_code !== 0
    if (byItself && this.#engineEver) return this.#engineEver
    // In a run that did not fail, a line that reads like an error may be about anything.
    const hint = byItself ? this.#hint('first') : undefined
    if (hint) return hint
    const lastLine = this.#lastLine
    // A program that refuses to start says why in its last line, whatever that is.
    if (byItself && !this.#begun && !this.#inTurn && lastLine)
      return problemAt(lastLine, 'output', lastLine.data.line)
    if (this.#cut && (failureKind(completion) === 'cut' || !byItself)) return this.#cut
    const where = this.#inMessage
      ? ' in the middle of a message'
      : this.#inTurn && outcome !== 'unknown'
        ? ' in the middle of a turn'
        : ''
    const plain =
      outcome === 'unknown' && this.#source?.engine === 'text'
        ? ': it is read as plain text, which tells none'
        : ''
    const title = (endWords(completion) + where).replace(/,$/, '') + plain
    const said = this.#stderr.findLast(({ data }) => isReason(data.line))
    if (!byItself || !said) return { ...end, title, raw_ref: end.raw_ref ?? this.#lastRef }
    return problemAt(said, 'end', `${title}; the last line on stderr: ${said.data.line}`)
  }
}

type RawLine = EventOf<'raw.stdout' | 'raw.stderr' | 'raw.pty'>

const NOT_DONE = 'it did not say that it is done: the done marker is missing'

/**
 * The newest events, each under an id, until they are removed. In fixed places: a Map that millions are put
 * into and taken from is much work for the collector.
 */
class Open<E extends AgentEvent> {
  readonly #ids: (string | undefined)[] = Array(MAX_OPEN).fill(undefined)
  readonly #events: (E | undefined)[] = Array(MAX_OPEN).fill(undefined)

  add(id: string, event: E): void {
    this.remove(id)
    let at = this.#ids.indexOf(undefined)
    if (at < 0) at = this.#events.indexOf(this.first)
    this.#ids[at] = id
    this.#events[at] = event
  }

  remove(id: string): void {
    const at = this.#ids.indexOf(id)
    if (at >= 0) this.#ids[at] = this.#events[at] = undefined
  }

  get first(): E | undefined {
    return this.#inOrder()[0]
  }

  get last(): E | undefined {
    return this.#inOrder().at(-1)
  }

  #inOrder(): E[] {
    return this.#events.filter((event) => event !== undefined).sort((a, b) => a.seq - b.seq)
  }
}

/** What a request, or a question tool, asks. */
function openWords(open: EventOf<'tool.call.started' | 'lifecycle.run.status'>): string | undefined {
  if (open.type === 'lifecycle.run.status')
    return open.data.request && askWords({ request: open.data.request })
  const subject = callSubject(open.data.input)
  return subject === '' || subject.startsWith('{') ? open.data.name : subject
}

/** Nearly every line begins with a letter or a mark. */
function isBlank(line: string): boolean {
  const first = line.charCodeAt(0)
  return !(first > SPACE && first < 0x7f) && line.trim() === ''
}

function cut(title: string): string {
  return title.slice(0, MAX_TITLE)
}

function isSamePlace(one: RawRef | null, other: RawRef | null): boolean {
  return one !== null && one.stream === other?.stream && one.byte_from === other.byte_from
}

/** Exit codes by which a shell, and many programs, report a signal. */
const signals: ReadonlyMap<number, string> = new Map([
  [129, 'SIGHUP'],
  [130, 'SIGINT'],
  [131, 'SIGQUIT'],
  [134, 'SIGABRT'],
  [137, 'SIGKILL'],
  [139, 'SIGSEGV'],
  [143, 'SIGTERM'],
])

/** Whether the agent was stopped on request, and reported the end of its turn. */
function endedItsTurn({ evidence }: Pick<CompletionData, 'evidence'>): boolean {
  return evidence?.stopped !== undefined && typeof evidence.failure === 'string'
}

/** How the process ended, as the start of a sentence. */
function endWords({ evidence }: CompletionData): string {
  const { signal, exit_code, stopped } = evidence ?? {}
  const by = stopped === undefined ? '' : ' on request'
  if (typeof signal === 'string') return `${signal} ended it${by}`
  if (endedItsTurn({ evidence })) return 'it was stopped on request'
  if (typeof exit_code !== 'number') return `the log stops${by}, without reporting an end,`
  if (exit_code === 0) return `it exited with code 0${by}, without reporting an end,`
  const likely = signals.get(exit_code)
  return `it exited with code ${exit_code}${likely ? ` (as after ${likely})` : ''}${by}`
}

/** Characters of a line to check. */
const MAX_ERROR_LINE = 4096

const errorWords =
  /error|fatal|panic|exception|traceback|failed|cancell?ed|aborted|denied|unauthorized|refused|not found|no such file/i
/** Lines that begin like these are not errors, or are retried. */
const harmless = ['warn', '[warn', 'at ', 'info', 'debug', '[startup]', 'hint', 'note']
const again = ['reconnecting', 'retrying', 'falling back']

/**
 * The error in a line that no engine understands: its text, or the message of a JSON log record. Undefined if
 * it does not look like an error. It is a guess from words, only for display: no decision depends on it.
 *
 * @example
 * errorLine('Error: Incorrect API key provided.') // 'Error: Incorrect API key provided.'
 * errorLine('{"type":"error","message":"no prompt"}') // 'no prompt'
 */
export function errorLine(line: string): string | undefined {
  const text = line.slice(0, MAX_ERROR_LINE).trim()
  if (!looksLikeError(text)) return undefined
  if (text.startsWith('{')) return messageOf(line.trim())
  const lower = text.toLowerCase()
  if (isHarmless(lower) || again.some((word) => lower.includes(word))) return undefined
  return text.replace(STAMP, '')
}

/** Of a log record only its own fields count. */
function looksLikeError(text: string): boolean {
  if (!text.startsWith('{')) return errorWords.test(text)
  return text.includes('"error"') || text.includes('"fatal"')
}

/** Whether a line may say why a program ended: no warning, and not what it does now (`Reading input...`). */
function isReason(line: string): boolean {
  return !/(?:^|\.{3}|…)\s{0,9}$/.test(line.slice(-20)) && !isHarmless(line.trimStart().toLowerCase())
}

function isHarmless(lower: string): boolean {
  return harmless.some((start) => lower.startsWith(start))
}

/** The time that many programs write before a line of their log. */
const STAMP = /^\[?\d{4}-\d\d-\d\d[T ][\d:.,]{1,20}Z?\]? +/

function messageOf(line: string): string | undefined {
  // cast: the line begins with `{`
  const { type, level, message, msg } = (jsonValue(line) ?? {}) as Record<string, unknown>
  if (type !== 'error' && level !== 'error' && level !== 'fatal') return undefined
  const reported = message ?? msg
  return typeof reported === 'string' ? reported : undefined
}
