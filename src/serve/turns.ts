import { setImmediate as nextLook } from 'node:timers/promises'

/** Milliseconds of work after which the server looks for new requests. */
const TURN_MS = 8

let began = Number.NEGATIVE_INFINITY
let renewing = false

/**
 * Waits until there is time for another piece of work: call it before each. All loops of the server share the
 * time between two looks at new requests, so that a request does not wait long, however many loops there are.
 * Neither a file nor a client that reads as fast as we write makes a loop wait otherwise.
 */
export async function turn(): Promise<void> {
  while (performance.now() - began > TURN_MS) {
    // Before all who wait: the time begins again after the next look. Each of them then waits for its own
    // callback, because one that is resumed works to the end of its piece before the next one is.
    if (!renewing) setImmediate(renew)
    renewing = true
    await nextLook()
  }
}

function renew(): void {
  began = performance.now()
  renewing = false
}
