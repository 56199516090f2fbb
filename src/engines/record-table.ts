import { type Engine, type EngineCut, isLenient, type ReaderOptions, type Say } from '../events/engine.ts'
import { fits, Rec } from '../events/record.ts'

/** Reads a record, which may be in a `line`. Returns nothing, or what `EngineReader.read` does. */
// biome-ignore lint/suspicious/noConfusingVoidType: most readers only report something
type ReadRecord<State> = (record: Rec, say: Say, state: State, line: Rec) => boolean | 'kept' | void

/** What is known of the records of one type. */
export interface Row<State> {
  /** Conditions that only records of this engine meet (see `fits`). Without any, the type proves nothing. */
  readonly shape?: string
  /**
   * What its records have at least, if the caller has named the engine: what the reader cannot do without,
   * and what tells them apart from the records of another agent. Several of them are separated by a comma.
   * @default nothing but the type
   */
  readonly least?: string
  /** Other agents write records like the `least`: it counts only after another record of the engine. */
  readonly common?: true
  /** Other programs write such records, too. */
  readonly weak?: true
  /** Another engine begins with such a record, too: it begins a run, but does not tell whose. */
  readonly shared?: true
  /** The known fields, as for `say.fields`: `id:text status=completed|failed items:list`. */
  readonly fields?: string
  readonly read: ReadRecord<State>
}

/** Records by their type. */
export interface Rows<State> {
  /** The field with the type; several, if it has several names. @default 'type' */
  readonly by?: string
  /** The field with the second word of a row's name, if there is one. */
  readonly sub?: string
  /** The field with the record that the rows are about, if the type is outside of it. */
  readonly of?: string
  /** The word before the name of an unknown type: `item`. */
  readonly called?: string
  /** Fields that every record may have whose row lists fields. */
  readonly fields?: string
  /** Types that are understood, with nothing to report: kept as raw, silently. */
  readonly quiet?: string
  /** By `type`, by `type subtype`, or by several of them (`started, completed`). */
  readonly on: Readonly<Record<string, Row<State> | ReadRecord<State>>>
}

/** Conditions as for `fits`, or a function. */
type Condition = string | ((record: Rec) => boolean)

/** An engine whose records tell themselves apart by their type. */
export interface Table<State>
  extends Rows<State>,
    Pick<Engine, 'name' | 'parser' | 'about' | 'growing' | 'failures' | 'tools' | 'denials'> {
  /** @default records on stdout and the PTY */
  readonly cut?: EngineCut
  /**
   * What the first record of the engine looks like. If rows have a shape, it must have that of its row, too;
   * if no row has one, any type will do.
   */
  readonly shape?: Condition
  /** What a record looks like after that. @default any record */
  readonly later?: Condition
  /** What every record has at least, or lacks, if the caller has named the engine: see `Row.least`. */
  readonly least?: string
  /** How certain the engine is of what it reports. */
  readonly confidence?: number
  /** The state of one run. */
  readonly state: (limits: ReaderOptions) => State
  /** Sees each record before its row does. */
  readonly each?: (record: Rec, say: Say, state: State) => void
  readonly end?: (say: Say, state: State) => void
}

/** An engine from its table. Until a record has the shape of the engine, nothing is read. */
export function table<State>(given: Table<State>): Engine {
  const all = /* @__PURE__ */ rows(given)
  const { by, sub, of, called, fields, quiet, on, ...rest } = given
  const { shape = '', later = '', least = '', confidence, state: newState, each, end, ...engine } = rest
  const shapeOf = (record: Rec): boolean | 'weak' | 'shared' =>
    meets(record, shape) && (all.shaped ? all.shapeOf(record) : true)
  return {
    cut: { stdout: 'records', pty: 'records' },
    ...engine,
    shape({ value }) {
      const record = Rec.of(value)
      const own = record !== undefined && shapeOf(record)
      return own !== 'shared' && own
    },
    open(limits) {
      const state = newState(limits)
      let own = false
      let began = false
      return {
        read(frame, say) {
          const record = Rec.of(frame.value)
          if (!record) return false
          if (!own || !meets(record, later)) {
            if (shapeOf(record) !== false) own = true
            else if (!(isLenient(frame, limits) && fits(record.values, least) && all.hasLeast(record, began)))
              return false
          }
          began = true
          if (confidence !== undefined) say.confidence(confidence)
          each?.(record, say, state)
          return all.read(record, say, state)
        },
        ...(end && { end: (say: Say) => end(say, state) }),
      }
    },
  }
}

function meets(record: Rec, condition: Condition): boolean {
  return typeof condition === 'string' ? fits(record.values, condition) : condition(record)
}

const NOTHING = /* @__PURE__ */ new Rec({})

/** The row of each type, and a reader that reports a type without a row. */
export function rows<State>(given: Rows<State>) {
  const { by = 'type', sub, of, called, fields: common = '' } = given
  const known = new Map<string, Row<State>>()
  /** The rows with a second word, by the first. */
  const seconds = new Map<string, Map<string, Row<State>>>()
  for (const [names, row] of Object.entries(given.on)) {
    const { fields, ...rest } = typeof row === 'function' ? { read: row } : row
    const whole = fields === undefined ? rest : { ...rest, fields: `${common} ${fields}` }
    for (const name of names.split(', ')) {
      const [type = '', second] = name.split(' ')
      if (second === undefined) known.set(type, whole)
      else seconds.set(type, new Map(seconds.get(type)).set(second, whole))
    }
  }
  for (const name of given.quiet?.split(' ') ?? []) known.set(name, { read: () => true })

  const [usual = by] = by.split(' ')
  const rowOf = (record: Rec): Row<State> | undefined => {
    const type = record.text(usual) ?? record.text(by)
    if (type === undefined) return undefined
    const second = sub === undefined ? undefined : record.text(sub)
    return (second === undefined ? undefined : seconds.get(type)?.get(second)) ?? known.get(type)
  }
  const nameOf = (record: Rec): string => {
    const words = [called, String(record.at(by)), sub === undefined ? undefined : record.text(sub)]
    return words.filter((word) => word !== undefined).join(' ')
  }

  return {
    rowOf,
    shaped: [...known.values()].some((row) => row.shape !== undefined),
    /** Whether the record has the shape of its row. */
    shapeOf(record: Rec): boolean | 'weak' | 'shared' {
      const row = rowOf(record)
      if (row?.shape === undefined || !fits(record.values, row.shape)) return false
      return row.shared ? 'shared' : row.weak ? 'weak' : true
    },
    /** Whether the record has a row, and what its row needs at least; `began` if another one came before. */
    hasLeast(record: Rec, began: boolean): boolean {
      const row = rowOf(record)
      if (!row || (row.common && !began)) return false
      return (row.least ?? '').split(', ').some((conditions) => fits(record.values, conditions))
    },
    read(line: Rec, say: Say, state: State): boolean | 'kept' {
      const row = rowOf(line)
      if (!row) {
        say.unknownType(nameOf(line))
        return false
      }
      const record = of === undefined ? line : (line.record(of) ?? NOTHING)
      if (row.fields !== undefined) say.fields(record.values, row.fields)
      return row.read(record, say, state, line) ?? true
    },
  }
}
