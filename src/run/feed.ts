import type { Transform } from 'node:stream'

/** Writes what comes into the flow, at the pace of its reader, and tidies up whichever way it ends. */
export async function feed(
  source: AsyncIterable<unknown>,
  flow: Transform,
  tidy: () => void = () => {},
): Promise<void> {
  // `end` of a run is a promise, so the method is taken from where it was.
  const finish = flow.end.bind(flow)
  try {
    for await (const item of source) {
      if (!flow.destroyed && !flow.write(item)) await roomIn(flow)
      if (flow.destroyed) return
    }
    finish()
  } catch (error) {
    flow.destroy(error as Error)
  } finally {
    // When it ended well, the journal closes itself with its last event.
    if (flow.destroyed) tidy()
    else flow.once('close', tidy)
  }
}

function roomIn(flow: Transform): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      flow.off('drain', done)
      flow.off('close', done)
      resolve()
    }
    flow.on('drain', done)
    flow.on('close', done)
  })
}
