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

/** What a tool does, as the table of its engine says. */
export function toolKind(name: string, table: ToolTable = {}): ToolKind {
  return kinds.find((kind) => table[kind]?.split(' ').includes(name)) ?? 'other'
}

/** The kind that an agent names itself; a word that is none is `other`. */
export function readToolKind(word: string): ToolKind {
  return kinds.find((kind) => kind === word) ?? 'other'
}
