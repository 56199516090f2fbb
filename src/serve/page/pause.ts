/**
 * Lets the browser draw and handle input, then continues; works in a hidden page too, which has no animation
 * frames.
 */
export function pause(milliseconds = 0): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds))
}
