import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A real file system of a few KiB, in memory. */
export interface SmallDisk {
  readonly dir: string
  /** Mounts it again with other options: `size=1m`, `ro`. */
  remount(options: string): void
  remove(): void
}

/** Mounts one; a text says why that is not possible on this machine. */
export function smallDisk(size: string): SmallDisk | string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-disk-'))
  const mount = (options: string) =>
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'sluice-test', dir], { stdio: 'pipe' })
  try {
    mount(`size=${size}`)
  } catch (error) {
    rmSync(dir, { recursive: true })
    return `no tmpfs can be mounted here (${String(error).split('\n')[0]})`
  }
  return {
    dir,
    remount: (options) => void mount(`remount,${options}`),
    remove() {
      // Lazy, because a process that was killed may not have let go yet.
      execFileSync('umount', ['-l', dir], { stdio: 'pipe' })
      rmSync(dir, { recursive: true })
    },
  }
}
