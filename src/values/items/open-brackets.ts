import { OPEN_BRACE, OPEN_BRACKET } from '../../json/characters.ts'

/** So many open brackets are known by their kind. */
export const MAX_KNOWN = 1024
/** So far down a bracket looks for its pair; more would be quadratic where nothing fits. */
const MAX_BELOW = 16

/** The brackets that are open inside a value; how deep it is beyond `MAX_KNOWN` is only counted. */
export class OpenBrackets {
  readonly kinds = new Uint8Array(MAX_KNOWN)
  depth = 0

  /**
   * How deep it is after a closing bracket, which also closes what was left open inside its pair. -1: it is
   * the bracket around the value, which stands in an array or in an object. One that fits nothing near is
   * passed over.
   */
  depthAfter(closing: number, depth: number, inArray: boolean): number {
    const opening = closing - 2
    if (depth > MAX_KNOWN || this.kinds[depth - 1] === opening) return depth - 1
    const floor = Math.max(0, depth - MAX_BELOW)
    for (let below = depth - 1; below > floor; below--) {
      if (this.kinds[below - 1] === opening) return below - 1
    }
    if (floor > 0) return depth
    return (opening === OPEN_BRACKET) === inArray ? -1 : depth
  }

  /** How deep the nearest array is that holds the open objects: 0 is the one around the value, -1 for none. */
  arrayBelow(depth: number, inArray: boolean): number {
    const floor = Math.max(0, depth - MAX_BELOW)
    let below = Math.min(depth, MAX_KNOWN)
    while (below > floor && this.kinds[below - 1] === OPEN_BRACE) below--
    return below > floor ? below : floor === 0 && inArray ? 0 : -1
  }
}
