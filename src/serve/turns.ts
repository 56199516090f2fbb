import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work after which the server looks for new requests. */
const TURN_MS = 8

let began = Number.NEGATIVE_INFINITY
let next: Promise<void> | undefined

/**
 * Waits until there is time for another piece of work: call it before each. All loops of the server share the
 * time between two looks at new requests, so that a request does not wait long, however many loops there are.
 * Neither a file nor a client that reads as fast as we write makes a loop wait otherwise.
 */
export async function turn(): Promise<void> {
  while (performance.now() - began > TURN_MS) {
    next ??= setImmediate().then(() => {
      began = performance.now()
      next = undefined
    })
    await next
  }
}
