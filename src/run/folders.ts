import fs from 'node:fs'
import { join } from 'node:path'

/** A folder and its entries, by name. */
export interface Folder {
  readonly path: string
  readonly entries: readonly fs.Dirent[]
}

export interface FolderOptions {
  /** How many levels below the first folder are searched. */
  readonly maxDepth: number
  /** Called for a folder that cannot be read. @default it is skipped */
  readonly unreadable?: ((path: string, error: unknown) => void) | undefined
}

const skipped = new Set(['node_modules', '.git'])

/** Whether folders of this name are not looked into. */
export function isSkipped(name: string): boolean {
  return skipped.has(name)
}

/** Whether an entry is a folder that is looked into. */
export function isSearched(entry: fs.Dirent): boolean {
  return entry.isDirectory() && !isSkipped(entry.name)
}

/** A folder and those below it, one by one, in the order of their names. Links are not followed. */
export function* folders(root: string, options: FolderOptions): Generator<Folder> {
  const { maxDepth, unreadable } = options
  const waiting: { path: string; depth: number }[] = [{ path: root, depth: 0 }]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { path, depth } = next
    let entries: readonly fs.Dirent[]
    try {
      entries = readFolder(path)
    } catch (error) {
      unreadable?.(path, error)
      continue
    }
    yield { path, entries }
    if (depth >= maxDepth) continue
    for (const entry of entries.toReversed())
      if (isSearched(entry)) waiting.push({ path: join(path, entry.name), depth: depth + 1 })
  }
}

/** The entries of a folder, by name. */
export function readFolder(path: string): readonly fs.Dirent[] {
  return fs.readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
}
