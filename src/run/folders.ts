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
  /** Maximum number of folders to read; the rest is left out. @default all */
  readonly maxFolders?: number | undefined
  /** Reads the entries of a folder, by name. @default from the disk */
  readonly read?: ((path: string) => readonly fs.Dirent[]) | undefined
  /** Called for a folder that cannot be read. @default it is skipped */
  readonly unreadable?: ((path: string, error: unknown) => void) | undefined
}

const skipped = new Set(['node_modules', '.git'])

/** Whether folders of this name are not looked into. */
export function isSkipped(name: string): boolean {
  return skipped.has(name)
}

/** A folder and those below it, one by one, in the order of their names. Links are not followed. */
export function* folders(root: string, options: FolderOptions): Generator<Folder> {
  const { maxDepth, maxFolders = Number.POSITIVE_INFINITY, read = readFolder, unreadable } = options
  const waiting: { path: string; depth: number }[] = [{ path: root, depth: 0 }]
  for (let seen = 0; waiting.length > 0 && seen < maxFolders; seen++) {
    const { path, depth } = waiting.pop()!
    let entries: readonly fs.Dirent[]
    try {
      entries = read(path)
    } catch (error) {
      unreadable?.(path, error)
      continue
    }
    yield { path, entries }
    if (depth >= maxDepth) continue
    for (const entry of entries.toReversed()) {
      if (entry.isDirectory() && !isSkipped(entry.name)) {
        waiting.push({ path: join(path, entry.name), depth: depth + 1 })
      }
    }
  }
}

/** The entries of a folder, by name. */
export function readFolder(path: string): readonly fs.Dirent[] {
  return fs.readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
}
