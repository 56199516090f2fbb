/** A run at the broker. Both names are tokens (`tokenOf`), so they fit into a subject and into a file name. */
export interface RunName {
  readonly tenant: string
  readonly run: string
}

/** How far a run is after a block. */
export interface BlockEnd {
  /** The last whole event up to here; 0.0 if there is none yet. */
  readonly attempt: number
  readonly seq: number
  /** Hash of its line in the journal of the host, before anything was redacted; empty if there is none yet. */
  readonly hash: string
  /** So much of the next line is there: it is too long for one block. `hash` is of these bytes. */
  readonly part?: { readonly bytes: number; readonly hash: string } | undefined
  /** The block begins so many bytes into a line; the blocks before it have what is before. @default 0 */
  readonly from?: number | undefined
  /** The run was over when this was sent. It can go on with another attempt. */
  readonly over?: boolean | undefined
}

/** A block with its place at the broker. Places of later blocks, of any run, are higher. */
export interface StoredBlock {
  readonly at: number
  readonly name: RunName
  readonly end: BlockEnd
  /** Whole lines, a part of one, or nothing. */
  readonly bytes: Uint8Array
}

/** Which runs are read. @default all */
interface BlockFilter {
  readonly tenant?: string | undefined
  readonly run?: string | undefined
}

/**
 * What shipping needs of a broker. `ship`, `subscribe` and `mirror` know nothing else of it, so that another one can take the
 * place of NATS; `test/nats/broker.test.ts` says what it must do.
 *
 * A Fault is thrown for what no second try mends; any other error means that it is not known whether something was done, and
 * that the broker must be asked.
 */
export interface Broker {
  /** Bytes that fit into one block. */
  readonly maxBlock: number
  /** Appends a block right after the block of this run at `after` (0: as its first). The new place; undefined if the run is elsewhere. */
  append(name: RunName, end: BlockEnd, bytes: Uint8Array, after: number): Promise<number | undefined>
  /** The last block of a run, without its bytes; undefined if there is none. It may be late, never early. */
  last(name: RunName): Promise<Pick<StoredBlock, 'at' | 'end'> | undefined>
  /** Which storage this is, and the last place in it. After a loss of storage either the id is another or the place is lower. */
  state(): Promise<{ readonly id: string; readonly last: number }>
  /** All blocks from a place on, as they come, until the signal. Waits while the broker is away. */
  read(from: number, filter: BlockFilter, signal: AbortSignal): AsyncGenerator<StoredBlock, void>
  /** Waits until the broker can be asked. */
  reachable(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Thrown by `read` if the broker has less than it had, or something else in its place: it must be read from the start. */
export class Rewound extends Error {}

/** Tells a block from another one that is at its place since the broker lost it. */
export function markOf({ name, end }: StoredBlock): string {
  const { attempt, seq, hash, part, over } = end
  return `${name.tenant}.${name.run} ${attempt}.${seq} ${hash} ${part?.bytes ?? ''} ${over ?? ''}`
}
