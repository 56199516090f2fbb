import { setMaxListeners } from 'node:events'

/**
 * Lets one signal end any number of runs, questions and streams, as a server does when it shuts down. Node
 * would warn of a leak at its eleventh listener; ours are removed when what they end is over.
 */
export function shared(signal: AbortSignal): AbortSignal {
  // A signal that is not the platform's own has no such limit.
  if (signal instanceof EventTarget) setMaxListeners(0, signal)
  return signal
}
