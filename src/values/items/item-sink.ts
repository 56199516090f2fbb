import type { ChangeKind } from '../ladder/change.ts'
/** A piece of a document, in clean positions. */
export interface Piece {
  readonly from: number
  readonly to: number
  /** Where in the document, as a JSON pointer. */
  readonly path: string
  /** How the document itself needed help. */
  readonly why: ChangeKind | undefined
}

/** What a document hands out. */
export interface ItemSink {
  /** Takes a guess: false, and as if nothing had been, unless the piece is JSON as it is. */
  guessed(piece: Piece): boolean
  /** A whole element, good or bad. */
  item(piece: Piece): void
  /** An element in which the document broke off. */
  itemCut(piece: Piece): void
  /** The element at `from` outgrew `maxFrame`. */
  itemTooLong(path: string, from: number): void
  /** A document that began at the original offset `from` broke off at `end`, between two elements in `path`. */
  documentCut(path: string, from: number, end: number): void
  /** The place of the items was found, with or without items in it. */
  found(): void
}
