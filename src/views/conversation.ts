import type { Cost } from '../events/cost.ts'
import type {
  AgentEvent,
  AgentRequest,
  CompletionData,
  EventOf,
  RawRef,
  ResultData,
  Severity,
  ToolKind,
} from '../events/event.ts'
import { type Problem, problemOf } from '../events/problems.ts'
import type { Tokens } from '../events/tokens.ts'
import { OpenCalls } from './open-items.ts'
import { type RunSummary, summarizer } from './summary.ts'
import type { Asked } from './tool-text.ts'

/** Fields of every item of the conversation. */
interface Common {
  /** The address of its first event: `<attempt>.<seq>`. */
  readonly id: string
  /** Its index among all items. */
  readonly at: number
  readonly attempt: number
  readonly seq: number
  readonly ts: string
  /** The type of its first event. */
  readonly type: string
  readonly confidence: number
  /** The bytes it was read from, in order. */
  readonly refs: RawRef[]
  /** What went wrong here. */
  problem?: Problem | undefined
  /** Whether it is unfolded. */
  open: boolean
  /** Counts the changes, so that the drawn element knows when it is outdated. */
  version: number
}

interface Said extends Common {
  text: string
  /** The text of its last event. */
  piece: string
  /** More of it will arrive. */
  growing: boolean
  incomplete: boolean
  /** A subagent wrote it. */
  readonly nested: boolean
}

export interface MessageItem extends Said {
  readonly kind: 'message'
}

export interface ThoughtItem extends Said {
  readonly kind: 'reasoning'
}

export interface PromptItem extends Common {
  readonly kind: 'prompt'
  text: string
}

export interface ToolItem extends Common {
  readonly kind: 'tool'
  readonly name: string
  /** What the tool does: run a command, read a file. */
  readonly does: ToolKind
  /** A subagent called it. */
  readonly nested: boolean
  /** As the call started; if that had none, as it ended. While it is being written, the text so far. */
  input: unknown
  /** The model is still writing the input. */
  writing: boolean
  /** As the call ended: some agents know the arguments only then, and others write them in another way. */
  lateInput: unknown
  output: unknown
  error: string | undefined
  exitCode: number | undefined
  /** It was not allowed. */
  denied: boolean
  state: 'running' | 'completed' | 'failed'
  /** The attempt ended before it did. */
  left: boolean
  /** As measured by the engine. */
  measured: number | undefined
  /** As measured by the engine, else the time between its events. */
  milliseconds: number | undefined
}

export interface RawItem extends Common {
  readonly kind: 'raw'
  readonly stream: string
  readonly lines: string[]
}

export interface FileItem extends Common {
  readonly kind: 'artifact'
  readonly change: 'created' | 'modified' | 'deleted'
  readonly path: string
  readonly diff: string | undefined
}

export interface NoteItem extends Common {
  readonly kind: 'diagnostic'
  /** From the parser, not from the engine. */
  readonly ours: boolean
  readonly code: string
  readonly message: string
  readonly severity: Severity
  /** The engine itself tries again. */
  readonly retryable: boolean
  readonly count: number
}

export interface StatusItem extends Common {
  readonly kind: 'status'
  readonly status: string
  readonly model: string | undefined
  readonly reason: string | undefined
  readonly tokens: Tokens | undefined
  readonly cost: Cost | undefined
}

export interface RequestItem extends Common, Asked {
  readonly kind: 'request'
}

/** One entry of the conversation, of one event or several: the deltas of a message, a call. */
export type Item =
  | MessageItem
  | ThoughtItem
  | ToolItem
  | RawItem
  | FileItem
  | NoteItem
  | StatusItem
  | RequestItem
  | PromptItem
  | (Common & { readonly kind: 'result'; readonly result: ResultData })
  | (Common & { readonly kind: 'end'; readonly end: CompletionData })

/** The part of an item that is specific to its kind. */
type Content = Item extends infer I ? (I extends Item ? Omit<I, keyof Common> : never) : never

/** Maximum number of raw lines in one item. */
const MAX_LINES = 500
/** Characters of an input that is being written. */
const MAX_WRITING = 65_536

/**
 * Folds the events of a run into the items of its conversation. The terminal, the page, Markdown and `why`
 * draw these items, each in its own way. It remembers only what is open: a view that shows the whole
 * conversation keeps the items.
 *
 * @example
 * const talk = new Conversation()
 * const item = talk.take(event)
 * if (item.kind === 'tool' && item.state === 'failed') console.log(item.name, item.error)
 */
export class Conversation {
  readonly #onItem: ((item: Item) => void) | undefined
  readonly #facts = summarizer()
  /** The messages and thoughts that are arriving in pieces. */
  readonly #said = new Map<string, MessageItem | ThoughtItem>()
  readonly #calls = new OpenCalls<ToolItem>()
  readonly #requests = new OpenCalls<RequestItem>()
  #lines: RawItem | undefined
  #attempt = 0
  #count = 0
  #task: string | undefined
  /** The task as the first message, until the events tell it. */
  #asked: PromptItem | undefined
  /** The agent has said or done something. */
  #begun = false

  /**
   * Calls `onItem` with each item when it begins. `task` is what the agent was asked: it is the first item,
   * and the prompt in the events takes its place, which many agents do not tell.
   */
  constructor(onItem?: (item: Item) => void, task?: string) {
    this.#onItem = onItem
    this.#task = task
  }

  /** The calls that have not ended, the oldest first. */
  get running(): readonly ToolItem[] {
    return this.#calls.all()
  }

  /** The requests that nobody has answered, the oldest first. */
  get asked(): readonly RequestItem[] {
    return this.#requests.all()
  }

  summary(): RunSummary {
    return this.#facts.summary()
  }

  /** Takes the next event, and returns its item: a new one, or one that the event changes. */
  take(event: AgentEvent): Item {
    if (event.attempt_number !== this.#attempt) {
      this.#said.clear()
      this.#calls.takeAll()
      this.#requests.takeAll()
      this.#lines = undefined
    }
    if (!event.type.startsWith('raw.')) this.#lines = undefined
    if (this.#task !== undefined) {
      // Cast: it comes before the first event, and has no event of its own.
      const before = { ...event, type: 'user.message', seq: 0, raw_ref: null } as AgentEvent
      this.#asked = this.#add(before, { kind: 'prompt', text: this.#task })
      this.#task = undefined
    }
    this.#begun ||= event.type.startsWith('agent.') || event.type.startsWith('tool.')
    const item = this.#itemOf(event)
    try {
      item.problem ??= problemOf(event)
      this.#facts.write(event)
    } catch {
      // An event without the fields of its type is shown, but not added up.
    }
    this.#attempt = event.attempt_number
    if (event.raw_ref) addRef(item.refs, event.raw_ref)
    item.version++
    return item
  }

  #add<C extends Content>(event: AgentEvent, content: C): Extract<Item, C> {
    const { attempt_number, seq } = event
    const common = {
      id: `${attempt_number}.${seq}`,
      at: this.#count++,
      attempt: attempt_number,
      seq,
      ts: event.ts,
      type: event.type,
      confidence: event.source?.confidence ?? 1,
      refs: [],
      open: false,
      version: 0,
    }
    // Assigned, because a spread of two objects costs ten times as much. Cast: joins the two halves of an
    // item, which TypeScript cannot do for a union.
    const item = Object.assign(common, content) as unknown as Extract<Item, C>
    this.#onItem?.(item as Item)
    return item
  }

  /** Another program may have written the journal: an event without its data is shown as a raw line. */
  #itemOf(event: AgentEvent): Item {
    try {
      return this.#put(event)
    } catch {
      return this.#rawLine(event)
    }
  }

  #put(event: AgentEvent): Item {
    if (typeof event.data !== 'object' || event.data === null) return this.#rawLine(event)
    switch (event.type) {
      case 'agent.message.delta':
      case 'agent.message.final':
        return this.#say('message', event)
      case 'agent.reasoning.delta':
      case 'agent.reasoning.summary':
        return this.#say('reasoning', event)
      case 'user.message':
        return this.#prompt(event, plain(event.data.text))
      case 'tool.call.input.delta':
        return this.#write(event)
      case 'tool.call.started':
        return this.#start(event)
      case 'tool.call.completed':
      case 'tool.call.failed':
        return this.#finish(event)
      case 'artifact.created':
      case 'artifact.modified':
      case 'artifact.deleted': {
        const { path, diff } = event.data
        // Cast: the types end in these words.
        const change = event.type.slice('artifact.'.length) as FileItem['change']
        return this.#add(event, { kind: 'artifact', change, path: plain(path), diff: diff && plain(diff) })
      }
      case 'diagnostic.parser.warning':
      case 'diagnostic.engine.error': {
        const { code, message, severity, retryable = false, count = 1 } = event.data
        const ours = event.type === 'diagnostic.parser.warning'
        return this.#add(event, { kind: 'diagnostic', ours, code, message, severity, retryable, count })
      }
      case 'lifecycle.run.status': {
        const { status, model, reason, tokens, cost, request, request_id } = event.data
        if (request) return this.#ask(event, request)
        const asked = request_id === undefined ? undefined : this.#requests.end(request_id)
        if (asked) return settled(asked, event.data)
        const told = status === 'control' ? orderWords(event.data) : reason
        return this.#add(event, { kind: 'status', status: String(status), model, reason: told, tokens, cost })
      }
      case 'lifecycle.run.result':
        return this.#add(event, { kind: 'result', result: event.data })
      case 'lifecycle.completion.state':
        for (const said of this.#said.values()) {
          said.growing = false
          said.version++
        }
        for (const call of this.running) {
          call.left = true
          call.version++
        }
        return this.#add(event, { kind: 'end', end: event.data })
      default:
        return this.#rawLine(event)
    }
  }

  #prompt(event: AgentEvent, text: string): PromptItem {
    const asked = this.#asked
    this.#asked = undefined
    // What the user says after the agent has begun is another prompt, unless it has the same words.
    const same = asked?.attempt === event.attempt_number && (!this.#begun || text.startsWith(asked.text))
    return same ? Object.assign(asked, { text }) : this.#add(event, { kind: 'prompt', text })
  }

  #say(
    kind: 'message' | 'reasoning',
    event: EventOf<
      'agent.message.delta' | 'agent.message.final' | 'agent.reasoning.delta' | 'agent.reasoning.summary'
    >,
  ): MessageItem | ThoughtItem {
    const { message_id, incomplete = false, parent_call_id } = event.data
    const piece = plain(event.data.text)
    const growing = event.type === 'agent.message.delta' || event.type === 'agent.reasoning.delta'
    const key = `${kind} ${message_id}`
    const known = this.#said.get(key)
    if (!growing) this.#said.delete(key)
    if (known) {
      known.text = growing ? known.text + piece : piece
      return Object.assign(known, { piece, growing, incomplete })
    }
    const content = { text: piece, piece, growing, incomplete, nested: parent_call_id !== undefined }
    const made =
      kind === 'message' ? this.#add(event, { kind, ...content }) : this.#add(event, { kind, ...content })
    if (growing) this.#said.set(key, made)
    return made
  }

  #ask(event: AgentEvent, request: AgentRequest): RequestItem {
    const made = this.#add(event, { kind: 'request', request, by: undefined, option: undefined, answers: [] })
    this.#requests.start(request.id, made)
    return made
  }

  /** A piece of the input of a call that has not begun. */
  #write(event: EventOf<'tool.call.input.delta'>): ToolItem {
    const { call_id } = event.data
    const piece = plain(event.data.text)
    const known = this.#calls.find(call_id)
    if (known && !known.writing) return known
    const call = known ?? this.#open(event, '', true)
    const before = String(call.input)
    call.input = before + piece.slice(0, MAX_WRITING - before.length)
    return call
  }

  #start(event: EventOf<'tool.call.started' | 'tool.call.completed' | 'tool.call.failed'>): ToolItem {
    const { input, call_id } = event.data
    const known = this.#calls.find(call_id)
    return known?.writing ? Object.assign(known, { input, writing: false }) : this.#open(event, input, false)
  }

  #open(
    event: EventOf<
      'tool.call.input.delta' | 'tool.call.started' | 'tool.call.completed' | 'tool.call.failed'
    >,
    input: unknown,
    writing: boolean,
  ): ToolItem {
    // Recordings of 0.2 have no kind.
    const { name, kind: does = 'other', call_id, parent_call_id } = event.data
    const made = this.#add(event, {
      kind: 'tool',
      name: String(name),
      does,
      nested: parent_call_id !== undefined,
      input,
      writing,
      lateInput: undefined,
      output: undefined,
      error: undefined,
      exitCode: undefined,
      denied: false,
      state: 'running',
      left: false,
      measured: undefined,
      milliseconds: undefined,
    })
    this.#calls.start(call_id, made)
    return made
  }

  #finish(event: EventOf<'tool.call.completed' | 'tool.call.failed'>): ToolItem {
    const { call_id, input, output, error, exit_code, duration_ms } = event.data
    const known = this.#calls.find(call_id)
    const call = known && !known.writing ? known : this.#start(event)
    this.#calls.end(call_id)
    if (call.input === undefined) call.input = input
    call.lateInput = input
    call.output = output
    call.error = error === undefined ? undefined : plain(error)
    call.exitCode = exit_code
    call.denied = event.data.denied === true
    call.state = event.type === 'tool.call.failed' ? 'failed' : 'completed'
    call.measured = duration_ms
    call.milliseconds = duration_ms ?? (known ? between(known.ts, event.ts) : undefined)
    return call
  }

  #rawLine(event: AgentEvent): RawItem {
    const line = (event.data as { line?: unknown } | null)?.line
    const text = typeof line === 'string' ? line : (JSON.stringify(event.data) ?? '')
    const stream = event.type.slice('raw.'.length)
    if (this.#lines?.stream === stream && this.#lines.lines.length < MAX_LINES) this.#lines.lines.push(text)
    else this.#lines = this.#add(event, { kind: 'raw', stream, lines: [text] })
    return this.#lines
  }
}

/** Adds bytes to those of an item. A message may have a hundred thousand pieces, one after the other. */
function addRef(refs: RawRef[], ref: RawRef): void {
  const last = refs.at(-1)
  const isNext =
    last?.attempt_number === ref.attempt_number &&
    last.stream === ref.stream &&
    last.byte_to === ref.byte_from
  if (isNext) refs[refs.length - 1] = { ...last, byte_to: ref.byte_to }
  else refs.push(ref)
}

/** An order to the run, and what became of it. */
function orderWords({ do: what, result, why }: EventOf<'lifecycle.run.status'>['data']): string {
  return `${what} ${result}${why === undefined ? '' : `: ${why}`}`
}

function settled(
  item: RequestItem,
  { by, option, answers = [] }: EventOf<'lifecycle.run.status'>['data'],
): RequestItem {
  item.by = by as RequestItem['by'] // cast: only an order has another one
  item.answers = Array.isArray(answers) ? answers.map(String) : []
  item.option = item.request.options.find(({ id }) => id === option)
  return item
}

/** Text stays unchanged; in a journal of another program it may be anything. Throws if it is missing. */
function plain(value: unknown): string {
  if (value === undefined) throw new TypeError('the event has no text')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Events that were read at once have the same time, which says nothing about a duration. */
function between(from: string, to: string): number | undefined {
  const time = Date.parse(to) - Date.parse(from)
  return time > 0 ? time : undefined
}
