import { Fault, quote } from '../base/fault.ts'
import { type Flow, flow } from '../base/flow.ts'
import type { Sink, Stage } from '../base/stage.ts'
import { type Channel, type Chunk, chunkIntake } from '../frames/chunk.ts'
import { DEFAULT_MAX_FRAME, type FrameOptions, frameStage, type OpenerRules, TURN } from '../frames/frames.ts'
import { selectionsOf } from './items/item-paths.ts'
import { itemStage } from './items/items.ts'
import type { Rules } from './ladder/attempt.ts'
import type { ProtoKeys } from './ladder/proto.ts'
import type { Outcome } from './outcome.ts'
import { judgeStage } from './outcomes.ts'
import { type Pick, pickStage } from './pick.ts'
import { checkOf, type Schema, type Value } from './schema/schema.ts'
import { headOf } from './unmatched-text.ts'

/**
 * Maps the fields of a parsed value before the schema sees it. A throw fails the candidate, not the stream.
 */
// biome-ignore lint/suspicious/noExplicitAny: a normalizer says itself what it takes
export type Normalizer = (value: any) => unknown

/** Where to look for payloads, and what a good one is. */
export interface ValuesOptions<S extends Schema | undefined = undefined> {
  /** What a value must be: any Standard Schema, or a JSON Schema object. @default anything */
  readonly schema?: S | undefined
  /** Look only at blocks of this tag: `json` for `<json>…</json>`. @default the whole input, else tags, fences, objects */
  readonly tag?: string | undefined
  /** Look only at NDJSON lines. @default false */
  readonly lines?: boolean | undefined
  /**
   * Hand out the elements of a document one by one, each as soon as it closes, instead of the document: for
   * documents of any size, because only one element is held at a time. A path of names, indexes and `*` (every
   * element or member), or several paths: `issues.*`, `*` for a root array, `files.*.issues.*`, or as a JSON
   * pointer `/issues/*`. Each element is parsed, repaired and shown to the schema by itself; `frame.path` says
   * which it is (`/issues/0`), `frame.from` where it stands. `maxFrame` is then a limit for an element. A
   * document that breaks off gives one outcome TRUNCATED at its end; one without the paths, NO_MATCH.
   *
   * @default the whole document is one value
   * @example
   * for await (const outcome of file.pipe(values({ tag: 'json', items: 'issues.*', schema: Issue }))) {
   *   if (outcome.ok) console.log(outcome.frame.path, outcome.value)
   *   else console.warn(outcome.frame.path, outcome.fault.code)
   * }
   */
  readonly items?: string | readonly string[] | undefined
  /** Hand out each payload, the first good one, or the last one. @default 'each' */
  readonly pick?: Pick | undefined
  /** Close a value that the input cut off, and list its incomplete paths. @default false */
  readonly partial?: boolean | undefined
  /** What a value must be at its root. @default 'object' */
  readonly root?: 'object' | 'any' | undefined
  /** Functions that run on the parsed value, in order, before the schema. @default none */
  readonly normalize?: readonly Normalizer[] | undefined
  /** Put before the message of every fault, to tell several callers apart. @default none */
  readonly label?: string | undefined
  /** Bytes a payload may have; a larger one is let go with FRAME_TOO_LONG. @default 16 MiB */
  readonly maxFrame?: number | undefined
  /** Bytes of the input that are kept to be shown if nothing matches; more are not kept. @default 1 MiB */
  readonly maxComment?: number | undefined
  /** Characters that syntax repair may work on; a longer text is not repaired, REPAIR_SKIPPED. @default 64 KiB */
  readonly maxRepair?: number | undefined
  /** Levels a value may be nested; a deeper one fails with MAX_DEPTH. @default 512 */
  readonly maxDepth?: number | undefined
  /**
   * What to do with keys that reach for a prototype, `__proto__` and `constructor.prototype`: remove them
   * (with a note PROTO_KEY), fail, or keep them as own properties. No prototype is ever touched. @default 'remove'
   */
  readonly protoKeys?: ProtoKeys | undefined
  /** Aborting it destroys the flow with an AbortError. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Finds the payloads in the output of an agent, while it streams, and hands out one outcome for each: the
 * value, parsed, repaired if need be and passed by the schema, or the reason why not. An input without any
 * gives one outcome, NO_MATCH with the start of the input as a comment, or EMPTY.
 *
 * Of a stream of Chunks it reads one channel: stdout or PTY, whichever speaks first. stderr is not the agent's word.
 *
 * @example
 * for await (const outcome of child.stdout.pipe(values({ tag: 'json', pick: 'last', schema: Report }))) {
 *   if (outcome.ok) console.log(outcome.value)
 *   else console.warn(outcome.fault.code)
 * }
 */
export function values<S extends Schema | undefined = undefined>(
  options: ValuesOptions<S> = {},
): Flow<Outcome<Value<S>>> {
  return flow(valueStage(options, TURN), { signal: options.signal, intake: chunkIntake })
}

/** The stage behind `values()`, without streams. */
export function valueStage<S extends Schema | undefined = undefined>(
  options: ValuesOptions<S> = {},
  turn?: number,
): Stage<Chunk, Outcome<Value<S>>> {
  const { tag, lines = false, pick = 'each', label } = options
  const maxComment = limit('maxComment', options.maxComment, 1 << 20)
  const rules = rulesOf(options)
  if (tag !== undefined && lines) {
    throw new Fault('BAD_OPTION', 'tag and lines exclude each other; leave one of them out')
  }
  if (options.items !== undefined && lines) {
    throw new Fault('BAD_OPTION', 'items and lines exclude each other; leave one of them out')
  }
  const selections = options.items === undefined ? undefined : selectionsOf(options.items)
  word('pick', pick, ['each', 'first', 'last'])
  const cut = frameStage(cutOf(options, rules, turn))
  const maxFrame = options.maxFrame ?? DEFAULT_MAX_FRAME

  return (next) => {
    const head = headOf(maxComment)
    let channel: Channel | undefined
    /** The pick is made: the rest of the input does not matter. */
    let done = false
    const picked = pickStage<Value<S>>(pick)({
      write(outcome) {
        done = pick === 'first'
        next.write(outcome)
      },
      end: () => next.end(),
    })
    // The cast is the door: a value is what its schema says, and the schema has let it pass.
    const outcomes = picked as Sink<Outcome<unknown>>
    const chunks = selections
      ? itemStage({ rules, label, head, selections, tag, maxFrame, turn })(outcomes)
      : cut(unless(() => done, judgeStage({ rules, label, head })(outcomes)))
    return {
      write(chunk) {
        if (done || chunk.channel === 'exit' || chunk.channel === 'stderr' || chunk.bytes.length === 0) return
        channel ??= chunk.channel
        if (chunk.channel !== channel) return
        head.add(chunk.bytes)
        chunks.write(chunk)
      },
      end() {
        chunks.end()
      },
      more: () => chunks.more?.() ?? false,
    }
  }
}

/** Frames that come when the pick is made are not even judged: one chunk may hold thousands. */
function unless<T>(done: () => boolean, next: Sink<T>): Sink<T> {
  return { write: (value) => void (done() || next.write(value)), end: () => next.end() }
}

function cutOf(
  options: ValuesOptions<Schema | undefined>,
  rules: Rules,
  turn: number | undefined,
): FrameOptions & OpenerRules {
  const { tag, lines = false, maxFrame } = options
  const any = tag === undefined && !lines
  return {
    tags: tag !== undefined ? [tag] : any ? ['json'] : [],
    fences: any,
    lines,
    objects: any,
    think: !lines,
    text: true,
    maxFrame,
    needsPayload: any,
    loose: any && rules.check !== undefined,
    document: any && rules.root,
    turn,
  }
}

function rulesOf(options: ValuesOptions<Schema | undefined>): Rules {
  const { schema, normalize = [], root = 'object', partial = false, protoKeys = 'remove' } = options
  word('root', root, ['object', 'any'])
  word('protoKeys', protoKeys, ['remove', 'error', 'keep'])
  if (!Array.isArray(normalize) || normalize.some((one) => typeof one !== 'function')) {
    throw new Fault('BAD_OPTION', 'normalize must be an array of functions')
  }
  return {
    check: schema === undefined ? undefined : checkOf(schema),
    normalize,
    root,
    partial,
    protoKeys,
    maxRepair: limit('maxRepair', options.maxRepair, 64 * 1024),
    maxDepth: limit('maxDepth', options.maxDepth, 512),
  }
}

function word(name: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return
  throw new Fault('BAD_OPTION', `${name} must be one of ${known.join(', ')}, but is ${quote(String(value))}`)
}

function limit(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new Fault('BAD_OPTION', `${name} must be a whole number, but is ${quote(String(value))}`)
}
