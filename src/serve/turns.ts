/** Milliseconds of work after which the server looks for new requests. */
const TURN_MS = 8

let began = Number.NEGATIVE_INFINITY
let renewing = false
/** The loops that wait, in the order in which they came. */
const waiting: (() => void)[] = []

/**
 * Waits until there is time for another piece of work: call it before each. All loops of the server share the
 * time between two looks at new requests, so that a request does not wait long, however many loops there are.
 * They take turns: one that never rests, as the first reading of ten thousand runs, holds up no other.
 * Neither a file nor a client that reads as fast as we write makes a loop wait otherwise.
 */
export async function turn(): Promise<void> {
  if (waiting.length === 0 && performance.now() - began <= TURN_MS) return
  await new Promise<void>((resolve) => {
    waiting.push(resolve)
    look()
  })
}

/** One callback after the next look for each loop that waits: its piece ends before the next one begins. */
function look(): void {
  if (!renewing) setImmediate(renew)
  renewing = true
  setImmediate(resume)
}

function renew(): void {
  began = performance.now()
  renewing = false
}

function resume(): void {
  if (performance.now() - began > TURN_MS) look()
  else waiting.shift()!()
}
