import type { gate } from '../../frames/gate.ts'
import type { ChangeKind } from '../ladder/change.ts'
import type { Level } from './level.ts'

/** Before the first bracket of a document is sure. */
type OpeningStage = 'gate' | 'before'
/** Inside its containers. */
export type ContainerStage = 'value' | 'key' | 'in key' | 'colon' | 'comma' | 'walk'
export type Stage = OpeningStage | ContainerStage

/** What a step comes to: there is more to do, more bytes are needed, or the document has been left. */
export type Step = 'on' | 'wait' | 'left'

/** How a document began. */
export interface Beginning {
  readonly from: number
  /** Where that was in the original: the bytes themselves are let go. */
  readonly origin: number
  /** Where to go on: behind the tag of a block, or behind the bracket. */
  readonly at: number
  readonly block: boolean
  /** What a bare bracket must pass before it counts as one. */
  readonly judge: ReturnType<typeof gate> | undefined
  readonly why: ChangeKind | undefined
}

/** All that is known of the document under way. Made anew for each. */
export class DocumentState {
  readonly from: number
  readonly origin: number
  readonly block: boolean
  readonly judge: ReturnType<typeof gate> | undefined
  why: ChangeKind | undefined
  stage: Stage
  at: number
  readonly levels: Level[] = []
  /** The array that was closed just now, in case its bracket was one too many. */
  closed: Level | undefined = undefined
  /** The place of the items has been found: from here on nothing is taken for prose any more. */
  found = false
  /** Whether it is one beyond doubt: in a tag, or the first thing of the input. */
  readonly sure: boolean
  /** Something before the next element was not JSON. */
  odd = false
  /** The name of the member at hand, if it was read. */
  name: string | undefined = undefined

  constructor({ from, origin, at, block, judge, why }: Beginning) {
    this.from = from
    this.origin = origin
    this.at = at
    this.block = block
    this.judge = judge
    this.why = why
    this.stage = block ? 'before' : 'gate'
    this.sure = block || why === undefined
  }

  /** Nothing but its brackets says that this is a document. */
  isDoubtful(): boolean {
    return !this.sure && !this.found
  }

  /** Something is not JSON: true if it is prose then. */
  notJson(): boolean {
    this.odd = true
    return this.isDoubtful()
  }

  /** How the document needed help up to here. */
  whyNow(): ChangeKind | undefined {
    return this.why ?? (this.odd ? 'passed over what is no JSON' : undefined)
  }
}
