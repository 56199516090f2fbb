/** The time is counted in so many steps. */
const STEPS = 10

/**
 * Calls `act` after this time, counted by the event loop of this process. A loop that is late handles what
 * has arrived between two steps, so that its own delay is not taken for the silence of another program.
 * Returns a function that cancels it.
 *
 * @example
 * const cancel = afterLoopTime(30_000, () => giveUp())
 */
export function afterLoopTime(ms: number, act: () => void): () => void {
  let left = STEPS
  let timer: NodeJS.Timeout
  const step = () => {
    if (left-- > 0) timer = setTimeout(step, ms / STEPS)
    else act()
  }
  step()
  return () => clearTimeout(timer)
}
