import type { ToolTable } from './engine.ts'
import type { ToolKind } from './event.ts'

const kinds: readonly ToolKind[] = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'other',
]

/** What a tool does, by its name, as the table of an engine says. Read once: a run has many calls. */
export function kindsByName(table: ToolTable = {}): ReadonlyMap<string, ToolKind> {
  return new Map(kinds.flatMap((kind) => (table[kind]?.split(' ') ?? []).map((name) => [name, kind])))
}

/** The kind that an agent names itself; a word that is none is `other`. */
export function readToolKind(word: string): ToolKind {
  return kinds.find((kind) => kind === word) ?? 'other'
}
