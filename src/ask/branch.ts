/** A container that is being built, and where it hangs. `key` is its own key in its parent. */
export interface Branch {
  readonly parent: Branch | undefined
  readonly key: string | number
  readonly depth: number
  readonly map: Record<string, unknown> | undefined
  readonly list: unknown[] | undefined
  /** False if it hangs below a key that was dropped. */
  readonly shown: boolean
  /** Its JSON pointer, once somebody has asked. */
  path: string | undefined
}

/** Values that are complete, in the order they were completed. */
export class Completed {
  /** The container of each, none for the root, and its key there. */
  readonly branches: (Branch | undefined)[] = []
  readonly keys: (string | number)[] = []

  add(branch: Branch | undefined, key: string | number): void {
    this.branches.push(branch)
    this.keys.push(key)
  }
}

/** Where nothing has become complete, which is most often so in a long string. */
export const NOTHING = new Completed()

/**
 * The value at a key of a branch; own values only.
 */
export function valueAt(branch: Branch, key: string | number): unknown {
  return branch.list !== undefined ? branch.list[key as number] : branch.map?.[key]
}

/** The path of a value in a branch, as a JSON pointer. */
export function pointer(branch: Branch | undefined, key: string | number): string {
  if (branch === undefined) return ''
  // From the nearest branch that knows its path: depth is bounded, but recursion would still be deep.
  const unknown: Branch[] = []
  let at: Branch | undefined = branch
  while (at !== undefined && at.path === undefined) {
    unknown.push(at)
    at = at.parent
  }
  for (let next = unknown.pop(); next !== undefined; next = unknown.pop()) {
    next.path = next.parent === undefined ? '' : `${next.parent.path}/${segment(next.key)}`
  }
  return `${branch.path}/${segment(key)}`
}

function segment(key: string | number): string | number {
  if (typeof key === 'number' || !(key.includes('~') || key.includes('/'))) return key
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
