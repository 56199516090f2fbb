import type { Event, EventOf } from '../../events/event.ts'
import { type Problem, problemOf } from '../../views/problems.ts'
import { type RunSummary, summarizer } from '../../views/summary.ts'
import type { Content, Item, MessageItem, RawItem, ToolItem } from './item.ts'

/** Maximum number of raw lines in one item. */
const MAX_LINES = 500

/** A problem and the item that shows it. */
interface Found {
  readonly problem: Problem
  readonly item: Item
}

/** The events of a run as items, in the order of the conversation. It does not use the DOM. */
export interface Conversation {
  readonly items: readonly Item[]
  readonly problems: readonly Found[]
  summary(): RunSummary
  /** Takes the next event, and returns its item. */
  take(event: Event): Item
  /** The item of an event. */
  find(attempt: number, seq: number): Item | undefined
  /** The item that was read from this byte. */
  itemAt(attempt: number, stream: string, byte: number): Item | undefined
}

export function conversation(): Conversation {
  const items: Item[] = []
  const problems: Found[] = []
  const facts = summarizer()
  /** By attempt, then by seq: the index of the item. */
  const places = new Map<number, number[]>()
  const messages = new Map<string, MessageItem>()
  const calls = new Map<string, ToolItem>()
  let lines: RawItem | undefined
  let attempt = 0

  function add<C extends Content>(event: Event, content: C): Extract<Item, C> {
    const { attempt_number, seq } = event
    const common = {
      id: `${attempt_number}.${seq}`,
      at: items.length,
      attempt: attempt_number,
      seq,
      ts: event.ts,
      type: event.type,
      confidence: event.source?.confidence ?? 1,
      refs: [],
      heading: attempt_number !== attempt && attempt_number > 1 ? `Attempt ${attempt_number}` : undefined,
      open: false,
      version: 0,
    }
    // Cast: joins the two halves of an item, which TypeScript cannot do for a union.
    const item = { ...common, ...content } as unknown as Extract<Item, C>
    items.push(item as Item)
    return item
  }

  function put(event: Event): Item {
    if (typeof event.data !== 'object' || event.data === null) return rawLine(event)
    switch (event.type) {
      case 'agent.message.delta': {
        const { message_id, parent_call_id } = event.data
        const text = plain(event.data.text)
        const known = messages.get(message_id)
        if (known) {
          known.text += text
          return known
        }
        const nested = parent_call_id !== undefined
        const made = add(event, { kind: 'message', text, growing: true, incomplete: false, nested })
        messages.set(message_id, made)
        return made
      }
      case 'agent.message.final': {
        const { message_id, incomplete = false, parent_call_id } = event.data
        const text = plain(event.data.text)
        const known = messages.get(message_id)
        messages.delete(message_id)
        if (!known)
          return add(event, {
            kind: 'message',
            text,
            growing: false,
            incomplete,
            nested: parent_call_id !== undefined,
          })
        Object.assign(known, { text, growing: false, incomplete })
        return known
      }
      case 'agent.reasoning.summary':
        return add(event, { kind: 'reasoning', text: plain(event.data.text) })
      case 'user.message':
        return add(event, { kind: 'prompt', text: plain(event.data.text) })
      case 'tool.call.started':
        return start(event)
      case 'tool.call.completed':
      case 'tool.call.failed':
        return finish(event)
      case 'artifact.created':
      case 'artifact.modified':
      case 'artifact.deleted': {
        const { path, diff } = event.data
        return add(event, {
          kind: 'artifact',
          change: changes[event.type],
          path: plain(path),
          diff: diff && plain(diff),
        })
      }
      case 'diagnostic.parser.warning':
      case 'diagnostic.engine.error': {
        const { code, message, severity, count = 1 } = event.data
        const ours = event.type === 'diagnostic.parser.warning'
        return add(event, { kind: 'diagnostic', ours, code, message, severity, count })
      }
      case 'lifecycle.run.status': {
        const { status, model, reason, tokens } = event.data
        return add(event, { kind: 'status', status: String(status), model, reason, tokens })
      }
      case 'lifecycle.run.result':
        return add(event, { kind: 'result', result: event.data })
      case 'lifecycle.completion.state':
        for (const message of messages.values()) {
          message.growing = false
          message.version++
        }
        return add(event, { kind: 'end', end: event.data })
      default:
        return rawLine(event)
    }
  }

  function start(event: EventOf<'tool.call.started' | 'tool.call.completed' | 'tool.call.failed'>): ToolItem {
    const { name, input, call_id, parent_call_id } = event.data
    const made = add(event, {
      kind: 'tool',
      name: String(name),
      nested: parent_call_id !== undefined,
      input,
      output: undefined,
      error: undefined,
      exitCode: undefined,
      state: 'running',
      milliseconds: undefined,
    })
    calls.set(call_id, made)
    return made
  }

  function finish(event: EventOf<'tool.call.completed' | 'tool.call.failed'>): ToolItem {
    const { call_id, input, output, error, exit_code, duration_ms } = event.data
    const known = calls.get(call_id)
    const call = known ?? start(event)
    calls.delete(call_id)
    if (call.input === undefined) call.input = input
    call.output = output
    call.error = error === undefined ? undefined : plain(error)
    call.exitCode = exit_code
    call.state = event.type === 'tool.call.failed' ? 'failed' : 'completed'
    call.milliseconds = duration_ms ?? (known ? between(known.ts, event.ts) : undefined)
    return call
  }

  function rawLine(event: Event): Item {
    const line = (event.data as { line?: unknown } | null)?.line
    const text = typeof line === 'string' ? line : (JSON.stringify(event.data) ?? '')
    const stream = event.type.slice('raw.'.length)
    if (lines && lines.stream === stream && lines.lines.length < MAX_LINES) {
      lines.lines.push(text)
      return lines
    }
    lines = add(event, { kind: 'raw', stream, lines: [text] })
    return lines
  }

  return {
    items,
    problems,
    summary: () => facts.summary(),
    take(event) {
      if (event.attempt_number !== attempt) {
        messages.clear()
        calls.clear()
        lines = undefined
      }
      if (!event.type.startsWith('raw.')) lines = undefined
      let item: Item
      let problem: Problem | undefined
      try {
        item = put(event)
        facts.write(event)
        problem = problemOf(event)
      } catch {
        // Another program may have written the journal: an event without the shape of its type is shown as a
        // raw line.
        item = rawLine(event)
      }
      attempt = event.attempt_number
      if (event.raw_ref) item.refs.push(event.raw_ref)
      const seqs = places.get(attempt) ?? []
      places.set(attempt, seqs)
      seqs[event.seq] = item.at
      if (problem) {
        problems.push({ problem, item })
        item.problem ??= problem
      }
      item.version++
      return item
    },
    find(wanted, seq) {
      const at = places.get(wanted)?.[seq]
      return at === undefined ? undefined : items[at]
    },
    itemAt(wanted, stream, byte) {
      return items.find(({ refs }) =>
        refs.some(
          (ref) =>
            ref.stream === stream &&
            ref.attempt_number === wanted &&
            ref.byte_from <= byte &&
            byte < ref.byte_to,
        ),
      )
    },
  }
}

/** Text stays unchanged; in a journal of another program it may be anything. */
function plain(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

const changes = {
  'artifact.created': 'created',
  'artifact.modified': 'modified',
  'artifact.deleted': 'deleted',
} as const

/** Events that were read at once have the same time, which says nothing about a duration. */
function between(from: string, to: string): number | undefined {
  const time = Date.parse(to) - Date.parse(from)
  return time > 0 ? time : undefined
}
