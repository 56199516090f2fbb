import { badOption, quote } from '../../base/fault.ts'

/** One path, as its steps: the name of a member, the index of an element, or `*` for every one. */
export type Selection = readonly string[]

/** What follows from the place of a value: whether it is emitted, and which paths lead further into it. */
export interface PathMatch {
  readonly selected: boolean
  readonly deeper: readonly Selection[]
}

/**
 * Reads the option `items`: dotted paths (`issues.*`), or JSON pointers (`/issues/*`) for names that hold a
 * dot.
 *
 * @example
 * selectionsOf(['issues.*', '/a.b/0']) // [['issues', '*'], ['a.b', '0']]
 */
export function selectionsOf(items: string | readonly string[]): readonly Selection[] {
  const paths = typeof items === 'string' ? [items] : items
  if (!Array.isArray(paths) || paths.length === 0 || paths.length > MAX_PATHS) {
    throw badOption(`items must be a path like "issues.*", or 1 to ${MAX_PATHS} of them`)
  }
  const selections = paths.map(stepsOf)
  for (const outer of selections) {
    const inner = selections.find((other) => other.length > outer.length && leadsInto(outer, other))
    if (!inner) continue
    throw badOption(
      `items: ${quote(inner.join('.'))} is inside ${quote(outer.join('.'))}, which is emitted whole; leave one out`,
    )
  }
  return selections
}

/** Applies the step `name`, at `depth` levels below the root, to the paths that led to its container. */
function selectedPlace(selections: readonly Selection[], depth: number, name: string | undefined): PathMatch {
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

const EVERY = '*'
const MAX_PATHS = 64
const MAX_STEPS = 32

function stepsOf(path: unknown): Selection {
  if (typeof path !== 'string') {
    throw badOption(`items: expected a path like "issues.*", but got a ${typeof path}`)
  }
  const pointer = path.startsWith('/')
  const steps = pointer ? path.slice(1).split('/').map(unescaped) : path.split('.')
  if (steps.length > MAX_STEPS || (!pointer && steps.includes(''))) {
    throw badOption(
      `items: ${quote(path)} is not a path; write "issues.*", "*" for a root array, or a JSON pointer "/issues/*"`,
    )
  }
  return steps
}

function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Whether a value that `outer` selects can be on the way of `inner`. */
function leadsInto(outer: Selection, inner: Selection): boolean {
  return outer.every((step, i) => step === inner[i] || step === EVERY || inner[i] === EVERY)
}

/** A container on the way to a selection. There are never more of them than a selection has steps. */
export interface Level {
  readonly array: boolean
  /** Its own place in the document, as a JSON pointer. */
  readonly path: string
  /** How many containers it is in. */
  readonly depth: number
  /** The selections that lead here. */
  readonly selections: readonly Selection[]
  index: number
  /** The place of every element, if none has a place of its own. */
  readonly every: PathMatch | undefined
  /** The path of the elements without the last three digits of their index. */
  stem: string
  thousand: number
}

export function newLevel(
  array: boolean,
  path: string,
  depth: number,
  selections: readonly Selection[],
): Level {
  const steps = selections.map((selection) => selection[depth])
  // In an array nearly every element has the same place, so it is computed once.
  const same = steps.every((step) => step === EVERY || !isIndex(step))
  const every = array && same ? selectedPlace(selections, depth, undefined) : undefined
  return {
    array,
    path,
    depth,
    selections,
    index: 0,
    every,
    thousand: -1,
    stem: '',
  }
}

/** Whether the level is an array whose every element is emitted: the place of the items, even if empty. */
export function isListOfItems({ array, depth, selections }: Level): boolean {
  return array && selections.some((one) => one.length === depth + 1 && one[depth] === EVERY)
}

/** The place of the current element; `name` is that of a member. */
export function placeIn(level: Level, name: string | undefined): PathMatch {
  return level.every ?? selectedPlace(level.selections, level.depth, level.array ? String(level.index) : name)
}

/** The path of the current element; `name` is that of a member. */
export function pathIn(level: Level, name: string | undefined): string {
  return level.array ? indexPath(level) : `${level.path}/${escaped(name)}`
}

/**
 * Built from pieces: the number-to-string conversion caches thousands of results, which makes V8
 * grow its young generation to the maximum, three times the rest of the heap.
 */
function indexPath(level: Level): string {
  const { index } = level
  const low = index % 1000
  const thousand = (index - low) / 1000
  if (thousand !== level.thousand) {
    level.thousand = thousand
    level.stem = thousand === 0 ? `${level.path}/` : `${level.path}/${thousand}`
  }
  return level.stem + ((thousand === 0 ? FIRST[low] : LATER[low]) as string)
}

/** 0, 1, … 999 by themselves, and as the last digits of a longer number. */
const FIRST = /* @__PURE__ */ Array.from({ length: 1000 }, (_, i) => String(i))
const LATER = /* @__PURE__ */ FIRST.map((digits) => digits.padStart(3, '0'))

function isIndex(step: string | undefined): boolean {
  return step !== undefined && /^\d+$/.test(step)
}

/** A name as a step of a JSON pointer. */
function escaped(name: string | undefined): string {
  if (name === undefined) return '…'
  return name.includes('~') || name.includes('/') ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name
}
