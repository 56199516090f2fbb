import { Fault, quote } from '../../base/fault.ts'

/** One path, in its steps: the name of a member, the index of an element, or `*` for every one. */
export type Selection = readonly string[]

/** What is known of a value by its place: is it handed out, and which paths lead on into it? */
export interface Place {
  readonly selected: boolean
  readonly deeper: readonly Selection[]
}

/**
 * Reads the option `items`: dotted paths (`issues.*`), or JSON pointers (`/issues/*`) for names that hold a dot.
 *
 * @example
 * selectionsOf(['issues.*', '/a.b/0']) // [['issues', '*'], ['a.b', '0']]
 */
export function selectionsOf(items: string | readonly string[]): readonly Selection[] {
  const paths = typeof items === 'string' ? [items] : items
  if (!Array.isArray(paths) || paths.length === 0 || paths.length > MAX_PATHS) {
    throw new Fault('BAD_OPTION', `items must be a path like "issues.*", or 1 to ${MAX_PATHS} of them`)
  }
  const selections = paths.map(stepsOf)
  for (const outer of selections) {
    const inner = selections.find((other) => other.length > outer.length && leadsInto(outer, other))
    if (!inner) continue
    throw new Fault(
      'BAD_OPTION',
      `items: ${quote(inner.join('.'))} lies inside ${quote(outer.join('.'))}, which is handed out whole; leave one out`,
    )
  }
  return selections
}

/** What the step `name`, at `depth` levels below the root, makes of the paths that led to its container. */
export function placeOf(selections: readonly Selection[], depth: number, name: string | undefined): Place {
  let selected = false
  const deeper: Selection[] = []
  for (const selection of selections) {
    const step = selection[depth]
    if (step !== EVERY && step !== name) continue
    if (selection.length === depth + 1) selected = true
    else deeper.push(selection)
  }
  return { selected, deeper }
}

export const EVERY = '*'
const MAX_PATHS = 64
const MAX_STEPS = 32

function stepsOf(path: unknown): Selection {
  if (typeof path !== 'string') {
    throw new Fault('BAD_OPTION', `items: expected a path like "issues.*", but got a ${typeof path}`)
  }
  const pointer = path.startsWith('/')
  const steps = pointer ? path.slice(1).split('/').map(unescaped) : path.split('.')
  if (steps.length > MAX_STEPS || (!pointer && steps.includes(''))) {
    throw new Fault(
      'BAD_OPTION',
      `items: ${quote(path)} is no path; write "issues.*", "*" for a root array, or a JSON pointer "/issues/*"`,
    )
  }
  return steps
}

function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Could a value that `outer` selects be on the way of `inner`? */
function leadsInto(outer: Selection, inner: Selection): boolean {
  return outer.every((step, i) => step === inner[i] || step === EVERY || inner[i] === EVERY)
}
