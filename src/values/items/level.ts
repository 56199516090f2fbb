import { EVERY, type Place, placeOf, type Selection } from './selection.ts'

/** A container on the way to a selection. There are never more of them than a selection has steps. */
export interface Level {
  readonly array: boolean
  /** Its own place in the document, as a JSON pointer. */
  readonly path: string
  /** How many containers it stands in. */
  readonly depth: number
  /** The selections that lead here. */
  readonly selections: readonly Selection[]
  index: number
  /** What every element is, if none has a place of its own. */
  readonly every: Place | undefined
  /** The path of the elements so far as it is the same for a thousand of them. */
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
  // In an array nearly every element has the same place, so it is found once.
  const same = steps.every((step) => step === EVERY || !isIndex(step))
  const every = array && same ? placeOf(selections, depth, undefined) : undefined
  return { array, path, depth, selections, index: 0, every, thousand: -1, stem: '' }
}

/** Whether the level is an array of which every element is handed out: the place of the items, even if empty. */
export function isListOfItems({ array, depth, selections }: Level): boolean {
  return array && selections.some((one) => one.length === depth + 1 && one[depth] === EVERY)
}

/** What is known of the element at hand; `name` is that of a member. */
export function placeIn(level: Level, name: string | undefined): Place {
  return level.every ?? placeOf(level.selections, level.depth, level.array ? String(level.index) : name)
}

/** The path of the element at hand; `name` is that of a member. */
export function pathIn(level: Level, name: string | undefined): string {
  return level.array ? indexPath(level) : `${level.path}/${escaped(name)}`
}

/**
 * Put together from pieces: what turns numbers into strings keeps thousands of the last ones alive, and then V8
 * makes its young generation as large as it gets, three times the rest.
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

/** 0, 1, … 999 as they stand alone, and as they stand behind a thousand. */
const FIRST = Array.from({ length: 1000 }, (_, i) => String(i))
const LATER = FIRST.map((digits) => digits.padStart(3, '0'))

function isIndex(step: string | undefined): boolean {
  return step !== undefined && /^\d+$/.test(step)
}

/** A name as a step of a JSON pointer. */
function escaped(name: string | undefined): string {
  if (name === undefined) return '…'
  return name.includes('~') || name.includes('/') ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name
}
