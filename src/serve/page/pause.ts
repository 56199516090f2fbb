/** Lets the browser draw and listen, then goes on; also in a page that is not seen, which has no frames. */
export function pause(milliseconds = 0): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds))
}
