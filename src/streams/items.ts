import type { Readable } from 'node:stream'

/** Options of the methods that call a function for each item. */
interface EachOptions {
  /** How many calls may run at once. @default 1 */
  readonly concurrency?: number
  readonly signal?: AbortSignal
}

type Each<Out, Result> = (item: Out, options?: Pick<EachOptions, 'signal'>) => Result | Promise<Result>

/**
 * The methods of a stream that return its items, which Node types as `any`. They come first in the types
 * below, so that TypeScript picks them; those of Node must stay, or `pipe` would not accept the stream. The
 * iterator is repeated at the end, because that is where TypeScript looks for the items of a `pipeline`.
 */
export interface ItemMethods<Out> {
  [Symbol.asyncIterator](): NodeJS.AsyncIterator<Out>
  iterator(options?: { destroyOnReturn?: boolean }): NodeJS.AsyncIterator<Out>
  on(event: 'data', listener: (item: Out) => void): this
  once(event: 'data', listener: (item: Out) => void): this
  map<Result>(fn: Each<Out, Result>, options?: EachOptions): Items<Result>
  flatMap<Result>(
    fn: Each<Out, Iterable<Result> | AsyncIterable<Result>>,
    options?: EachOptions,
  ): Items<Result>
  filter<Kept extends Out>(fn: (item: Out) => item is Kept, options?: EachOptions): Items<Kept>
  filter(fn: Each<Out, boolean>, options?: EachOptions): Items<Out>
  forEach(fn: Each<Out, unknown>, options?: EachOptions): Promise<void>
  find<Kept extends Out>(fn: (item: Out) => item is Kept, options?: EachOptions): Promise<Kept | undefined>
  find(fn: Each<Out, boolean>, options?: EachOptions): Promise<Out | undefined>
  some(fn: Each<Out, boolean>, options?: EachOptions): Promise<boolean>
  every(fn: Each<Out, boolean>, options?: EachOptions): Promise<boolean>
  take(limit: number, options?: Pick<EachOptions, 'signal'>): Items<Out>
  drop(limit: number, options?: Pick<EachOptions, 'signal'>): Items<Out>
  toArray(options?: Pick<EachOptions, 'signal'>): Promise<Out[]>
}

/**
 * A Node Readable whose items have a type: in `for await`, `on('data')`, `map`, `filter` and `toArray`.
 *
 * @example
 * const texts: string[] = await run('codex', ['exec', '--json', 'hi'])
 *   .filter((event) => event.type === 'agent.message.final')
 *   .map((event) => event.data.text)
 *   .toArray()
 */
export type Items<Out> = ItemMethods<Out> & Readable & AsyncIterable<Out>
