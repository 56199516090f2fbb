import type { Readable } from 'node:stream'
import { Fault } from '../base/fault.ts'

/**
 * Adds `end` to the events of a run. Whoever asks for the end wants it: if nobody reads the events one turn
 * later, they are read to the end here. A reader that comes after that would miss the first of them, so it
 * gets BAD_STATE. `unread` is called then: nobody sees what the agent asks.
 */
export function withEnd<R extends Readable, E>(
  run: R,
  end: Promise<E>,
  unread?: () => void,
): Omit<R, 'end'> & { end: Promise<E> } {
  let asked = false
  const read = () => {
    if (run.destroyed || isRead(run)) return
    unread?.()
    run.resume()
    for (const name of READING) refuse(run, name)
  }
  return Object.defineProperty(run, 'end', {
    get() {
      if (!asked) setImmediate(read)
      asked = true
      return end
    },
  }) as never // cast: what was just defined
}

function isRead(run: Readable): boolean {
  return run.readableFlowing !== null || run.listenerCount('readable') > 0 || run.listenerCount('data') > 0
}

const READING = ['on', 'once', 'addListener', 'pipe', 'iterator', Symbol.asyncIterator] as const

function refuse(run: Readable, name: (typeof READING)[number]): void {
  const method = run[name].bind(run) as (...args: unknown[]) => unknown // cast: one signature for all of them
  Object.defineProperty(run, name, {
    value: (...args: unknown[]) => {
      if (typeof args[0] === 'string' && args[0] !== 'data' && args[0] !== 'readable') return method(...args)
      throw new Fault(
        'BAD_STATE',
        'the events of this run are being read already, because its end was asked for; read them first, or in the same turn',
      )
    },
  })
}
