import type { Transform } from 'node:stream'

/** A resource that belongs to a flow and ends with it. */
export interface Tied {
  /**
   * The flow is being destroyed, by a failure or because its reader left, or has ended: make the source end.
   */
  stop(failure: Error | null): void
  /** The source has ended: release everything. */
  tidy(): void
}

/**
 * Writes a source into the flow, at the pace of its reader. With `tied`, the flow is only closed, and its
 * failure only reported, when the source has ended and everything is released: a caller that sees the end can
 * start again at once.
 */
export function feed(source: AsyncIterable<unknown>, flow: Transform, tied?: Tied): Promise<void> {
  /** Wakes a write that waits for room, after the flow was destroyed. */
  let leave = () => {}
  const fed = write(source, flow, (wake) => {
    leave = wake
  })
  if (tied) {
    const destroy = flow._destroy.bind(flow)
    flow._destroy = (error, done) => {
      leave()
      tied.stop(error)
      destroy(error, async (failure) => {
        await fed
        tied.tidy()
        done(failure)
      })
    }
  }
  return fed
}

async function write(
  source: AsyncIterable<unknown>,
  flow: Transform,
  waits: (wake: () => void) => void,
): Promise<void> {
  // `end` of a run is a promise that hides the method, so it is bound before.
  const finish = flow.end.bind(flow)
  try {
    for await (const item of source) {
      if (!flow.destroyed && !flow.write(item)) await roomIn(flow, waits)
      if (flow.destroyed) return
    }
    finish()
  } catch (error) {
    flow.destroy(error as Error)
  }
}

function roomIn(flow: Transform, waits: (wake: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      flow.off('drain', done)
      flow.off('close', done)
      resolve()
    }
    flow.on('drain', done)
    flow.on('close', done)
    waits(done)
  })
}
