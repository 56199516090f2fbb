import {
  type Complete,
  isFunction,
  isName,
  isText,
  isWhole,
  misfit,
  OFF,
  type OptionTable,
  readOptions,
} from '../base/check-options.ts'
import { badOption } from '../base/fault.ts'
import type { Sink, Stage } from '../base/stage.ts'
import type { Frame } from '../frames/frame.ts'
import { checkTag, checkThink, FRAME_OPTIONS } from '../frames/frame-options.ts'
import { type FrameOptions, type OpenerRules, scanStage } from '../frames/frames.ts'
import type { Channel, Chunk } from '../text/chunk.ts'
import type { ProtoKeys, Rules } from './attempt.ts'
import { endOfBroken } from './candidates.ts'
import { elementsOf } from './items/items.ts'
import { judgeStage } from './judge.ts'
import type { Outcome } from './outcome.ts'
import { type OutcomeSink, type PickRule, pickStage } from './pick.ts'
import { checkOf, type Schema, type SchemaOutput } from './schema/schema.ts'
import { unmatchedText } from './unmatched-text.ts'
import type { Where } from './where/conditions.ts'
import { type DroppedLines, type LineRules, type WhereReader, whereReader } from './where/where.ts'

/**
 * Maps the fields of a value before the schema sees it. It gets any root that is allowed: with a schema also
 * arrays, null and scalars, unless `root` is `'object'`. A throw fails the candidate only.
 */
// biome-ignore lint/suspicious/noExplicitAny: a normalizer declares its own input type
export type Normalizer = (value: any) => unknown

/** Where to look for payloads, and what they must be. */
export interface ValuesOptions<S extends Schema | undefined = undefined> {
  /** What a value must be: any Standard Schema, or a JSON Schema object. @default anything */
  readonly schema?: S | undefined
  /**
   * Look only at blocks of this tag: `json` for `<json>…</json>`.
   * @default the whole input, else tags, fences, objects
   */
  readonly tag?: string | undefined
  /**
   * Look only at NDJSON lines. Every line that begins like JSON is a value or a fault, in order, indented or
   * not, broken or not; other lines are noise and are skipped. With `'strict'`, every line that is not blank
   * must be a record.
   * @default false
   */
  readonly lines?: boolean | 'strict' | undefined
  /**
   * With `lines`: emit only records that have these scalars at their top level, one value or one of several
   * for each key, and drop the others. Most are dropped on their bytes, which takes a fraction of the time of
   * parsing them. The record is the content of the line, before `normalize`, `schema` and `envelope`. Numbers
   * are compared by value. A line that is not JSON is a fault as always if its bytes may contain what is
   * wanted for every key (the longest part of a text without quotes, slashes and control characters; the key
   * for other scalars), and is dropped otherwise.
   *
   * @default every line
   * @example
   * for await (const outcome of file.pipe(values({ lines: true, where: { type: ['turn.completed',
   * 'turn.failed'] } }))) {
   *   if (outcome.ok) console.log(outcome.value)
   * }
   */
  readonly where?: Where | undefined
  /** With `where`: called at the end of the input with the number of dropped lines. @default none */
  readonly onDropped?: ((dropped: DroppedLines) => unknown) | undefined
  /**
   * Emit the elements of a document one by one, each as soon as what follows shows that it is complete,
   * instead of the document: for documents of any size, because only one element is held at a time. A path of
   * names, indexes and `*` (every element or member), or several paths: `issues.*`, `*` for a root array,
   * `files.*.issues.*`, or as a JSON pointer `/issues/*`. Each element is parsed, repaired and checked
   * against the schema by itself; `frame.path` says which it is (`/issues/0`), `frame.from` where it begins.
   * `maxFrame` is then a limit for an element. A document that breaks off gives one outcome TRUNCATED at its
   * end; a document without the paths gives NO_MATCH.
   *
   * @default the whole document is one value
   * @example
   * for await (const outcome of file.pipe(values({ tag: 'json', items: 'issues.*', schema: Issue }))) {
   *   if (outcome.ok) console.log(outcome.frame.path, outcome.value)
   *   else console.warn(outcome.frame.path, outcome.fault.code)
   * }
   */
  readonly items?: string | readonly string[] | undefined
  /**
   * Which payloads to emit: each; the first that passes (or else the first fault); or the last one, good or
   * bad. `first` and `last` emit at the end of the input, with a note AMBIGUOUS if more than one candidate
   * passes.
   * @default 'each'
   */
  readonly pick?: PickRule | undefined
  /**
   * Thoughts hide what is in them: `false` for none, or a list of the names of their tags. The name given as
   * `tag` is never one of them.
   * @default true: `<think>`, `[THINK]` and others, as models write them
   */
  readonly think?: boolean | readonly string[] | undefined
  /** Close a value that the input cut off, and list its incomplete paths. @default false */
  readonly partial?: boolean | undefined
  /** What a value must be at its root. @default 'any' with a schema, 'object' without one */
  readonly root?: 'object' | 'any' | undefined
  /**
   * The field of an envelope. A value that the schema rejects may be an envelope around the payload, which is
   * then the text (or the object) in this field; envelopes may be nested.
   * @default 'response'
   */
  readonly envelope?: string | undefined
  /** Functions that run on the parsed value, in order, before the schema. @default none */
  readonly normalize?: readonly Normalizer[] | undefined
  /** Your word for these payloads, which is put before the message of every fault. @default none */
  readonly label?: string | undefined
  /** Maximum size of a payload in bytes; a larger one fails with FRAME_TOO_LONG. @default 16 MiB */
  readonly maxFrame?: number | undefined
  /**
   * How many bytes of the input `outcome.comment` may have, which an input without any payload gets.
   * @default 1 MiB, and none with `where`
   */
  readonly maxComment?: number | undefined
  /**
   * Characters that syntax repair may work on; a longer text is not repaired and gets a note REPAIR_SKIPPED.
   * @default 64 KiB
   */
  readonly maxRepair?: number | undefined
  /** Levels a value may be nested; a deeper one fails with MAX_DEPTH. @default 512 */
  readonly maxDepth?: number | undefined
  /**
   * What to do with keys that could change a prototype, `__proto__` and `constructor.prototype`: remove them
   * (with a note PROTO_KEY), fail, or keep them as own properties. No prototype is ever touched.
   * @default 'remove'
   */
  readonly protoKeys?: ProtoKeys | undefined
  /** Aborting it destroys the flow with an AbortError. */
  readonly signal?: AbortSignal | undefined
}

function checkOnDropped(onDropped: unknown): void {
  if (typeof onDropped !== 'function')
    throw misfit('onDropped', 'a function', onDropped, 'values({ lines: true, where, onDropped })')
}

const isLines = (lines: unknown) => lines === 'strict' || typeof lines === 'boolean'
const areFunctions = (all: unknown) => Array.isArray(all) && all.every(isFunction)
const WHOLE = 'be a whole number, but is "%"'

export const VALUES_OPTIONS = {
  schema: {},
  tag: { check: checkTag },
  lines: { default: false, is: isLines, must: `be true, false or 'strict', but is "%"` },
  where: {},
  onDropped: { check: checkOnDropped },
  items: {},
  pick: { default: 'each', words: ['each', 'first', 'last'] },
  think: { check: checkThink, default: true },
  partial: OFF,
  root: { words: ['object', 'any'] },
  envelope: { default: 'response', is: isName, must: 'be the name of a field' },
  normalize: { default: [], is: areFunctions, must: 'be an array of functions' },
  label: { is: isText, needs: 'a text as label' },
  maxFrame: FRAME_OPTIONS.maxFrame,
  maxComment: { is: isWhole, must: WHOLE },
  maxRepair: { default: 65_536, is: isWhole, must: WHOLE },
  maxDepth: { default: 512, is: isWhole, must: WHOLE },
  protoKeys: { default: 'remove', words: ['remove', 'error', 'keep'] },
} as const satisfies OptionTable<ValuesOptions>

/** The options of `values()`, read. */
type ReadOptions = Complete<ValuesOptions<Schema | undefined>, typeof VALUES_OPTIONS>

/**
 * `values()` without streams: see `Stage`. `turn`: after how many frames of a chunk the rest of it waits for
 * `more()` of the sink; without it nothing waits.
 */
export function valueStage<S extends Schema | undefined = undefined>(
  options: ValuesOptions<S> = {},
  turn?: number,
): Stage<Chunk, Outcome<SchemaOutput<S>>> {
  return pickedStage(options, turn, forStreams)
}

/** Only for streams, and a quarter of the code of `values()`: bundles of `parse` drop it. */
interface ForStreams {
  readonly items: typeof elementsOf
  readonly where: typeof whereReader
}

export const forStreams: ForStreams = { items: elementsOf, where: whereReader }

/** `valueStage`, which accepts `items` and `where` only if their readers are passed in. */
export function pickedStage<S extends Schema | undefined = undefined>(
  options: ValuesOptions<S>,
  turn?: number,
  more?: ForStreams,
): Stage<Chunk, Outcome<SchemaOutput<S>>> {
  const parts = valueParts(options, turn, more)
  // Cast: a value that passed the schema has the schema's type.
  return (next) => parts.stage(pickStage<SchemaOutput<S>>(parts.pick)(next) as OutcomeSink<unknown>)
}

/**
 * `values()` before one outcome is picked. `seen` is called for every frame that is judged. `whole`: the
 * input is a complete text, so that no outcome must come before its end.
 */
export function valueParts(
  given: ValuesOptions<Schema | undefined>,
  turn?: number,
  more?: ForStreams,
  whole = false,
) {
  const options = readOptions('values', given, 'values({ tag: "json" })', VALUES_OPTIONS)
  const { tag, lines, pick, label, maxFrame } = options
  const { maxComment = options.where === undefined ? 1 << 20 : 0 } = options
  const rules = rulesOf(options)
  if (tag !== undefined && lines) {
    throw badOption('`tag` and `lines` exclude each other; leave one of them out')
  }
  if (options.items !== undefined && lines) {
    throw badOption('`items` and `lines` exclude each other; leave one of them out')
  }
  for (const name of ['items', 'where'] as const)
    if (options[name] !== undefined && !more)
      throw badOption(`${name} is an option of values() only; leave it out, or use values()`)
  const items = options.items === undefined ? undefined : more?.items(options.items)
  const patient = whole || pick !== 'each'
  const cutting = cutOf(options, rules, turn, patient)
  const cut = scanStage(cutting)
  const readWhere = whereOf(options, { ...cutting, maxFrame, turn }, more)

  function stage(outcomes: OutcomeSink<unknown>, seen?: (frame: Frame) => void): Sink<Chunk> {
    const unmatched = unmatchedText(maxComment, rules.maxRepair)
    let channel: Channel | undefined
    const document = tag === undefined && !lines
    const reader = readWhere?.()
    const judging = { label, unmatched, lines, tag, document, patient, wanted: reader?.wanted }
    const judge = (rules: Rules) => watched(judgeStage({ ...judging, rules })(outcomes), seen)
    const chunks = items
      ? items({ rules, label, unmatched, tag, maxFrame, turn })(outcomes)
      : reader
        ? reader.chunks(judge({ ...rules, verdict: reader.verdict }))
        : cut(judge(rules))
    return {
      write(chunk) {
        if (chunk.channel === 'exit' || chunk.bytes.length === 0) return
        if (chunk.channel === 'stderr' || chunk.channel === 'stdin') return
        channel ??= chunk.channel
        if (chunk.channel !== channel) return
        unmatched.add(chunk.bytes)
        chunks.write(chunk)
      },
      end() {
        chunks.end()
      },
      more: () => chunks.more?.() ?? false,
    }
  }
  return { stage, pick }
}

function watched(next: Sink<Frame>, seen: ((frame: Frame) => void) | undefined): Sink<Frame> {
  if (!seen) return next
  return {
    write(frame) {
      seen(frame)
      next.write(frame)
    },
    end: () => next.end(),
  }
}

/** The options of `outcomeStage`: those of `values()` about values, not where to look for them. */
export type OutcomeOptions<S extends Schema | undefined = undefined> = Omit<
  ValuesOptions<S>,
  'tag' | 'items' | 'where' | 'onDropped' | 'maxFrame' | 'maxComment' | 'signal'
>

/**
 * The second half of `values()`: judges frames that `frameStage` cut, and gives an outcome for each payload.
 * It does not see the bytes, so NO_MATCH comes without a `comment`, and a broken document at the start of the
 * input is prose.
 *
 * @example
 * const stage = join(frameStage({ tags: ['answer'] }), outcomeStage({ schema: Report }))
 * drive(stage, [{ channel: 'stdout', bytes }])
 */
export function outcomeStage<S extends Schema | undefined = undefined>(
  options: OutcomeOptions<S> = {},
): Stage<Frame, Outcome<SchemaOutput<S>>> {
  const { tag: _, items, where, onDropped, maxFrame, maxComment, ...table } = VALUES_OPTIONS
  const read = readOptions('outcomeStage', options, 'outcomeStage({ schema })', table)
  const { label, lines, pick } = read
  const rules = rulesOf(read)
  return (next) => {
    // Cast: as in `pickedStage`.
    const outcomes = pickStage<SchemaOutput<S>>(pick)(next) as OutcomeSink<unknown>
    return judgeStage({ rules, label, unmatched: undefined, lines, document: false, patient: false })(
      outcomes,
    )
  }
}

function whereOf(
  { lines, where, onDropped }: ReadOptions,
  rules: LineRules,
  more: ForStreams | undefined,
): (() => WhereReader) | undefined {
  if (where === undefined) return undefined
  if (!lines) throw badOption('where needs lines: true; it filters lines only')
  return more?.where(where, rules, onDropped)
}

function cutOf(
  { tag, lines, where, maxFrame, think }: ReadOptions,
  rules: Rules,
  turn: number | undefined,
  patient: boolean,
): FrameOptions & OpenerRules & Omit<LineRules, 'maxFrame' | 'turn'> {
  const any = tag === undefined && !lines
  return {
    tags: tag !== undefined ? [tag] : any ? ['json'] : [],
    fences: any,
    lines: lines !== false,
    everyLine: lines === 'strict',
    // A filter skips lines, also those in between.
    joinLines: lines === true && where === undefined,
    scalars: rules.scalars || rules.check !== undefined,
    objects: any,
    think: lines ? false : think,
    text: true,
    maxFrame,
    needsPayload: any,
    keepUnclosed: !lines,
    loose: any && rules.check !== undefined,
    document: any && 'any',
    readFences: any && (rules.root === 'any' || rules.check ? 'any' : 'object'),
    endOfBroken: any ? endOfBroken : undefined,
    patient,
    turn,
  }
}

/** How a text that is one whole value is judged. */
export function wholeRules(options: ValuesOptions<Schema | undefined>): Rules {
  return rulesOf(readOptions('values', options, 'values({ tag: "json" })', VALUES_OPTIONS))
}

function rulesOf(options: Complete<OutcomeOptions<Schema | undefined>, typeof VALUES_OPTIONS>): Rules {
  const { schema, root = schema === undefined ? 'object' : 'any' } = options
  const { normalize, envelope, partial, protoKeys, maxRepair, maxDepth, think } = options
  return {
    check: schema === undefined ? undefined : checkOf(schema),
    normalize,
    root,
    scalars: options.root === 'any',
    pick: options.pick === 'last' ? 'last' : 'first',
    envelope,
    think,
    partial,
    protoKeys,
    maxRepair,
    maxDepth,
  }
}
