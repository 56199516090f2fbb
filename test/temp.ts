import { accessSync, constants, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { makePage } from '../scripts/page.ts'
import { buildPrograms } from './built.ts'

/** What the product itself puts into the folder for temporary files, and has to take away again. */
const ours = /^(sluice-serve-\w{6}|work-run-\w{6}|work-order-\w{6}|sluice-[0-9a-f-]{36})$/

/**
 * Gives a test run a folder of its own for temporary files, and takes it away when the run is over. What
 * tests leave there goes with it; what the product leaves there is an error.
 */
export async function setup({ name }: TestProject): Promise<() => void> {
  const dir = mkdtempSync(join(name === 'quick' ? quickDisk() : tmpdir(), 'sluice-tests-'))
  process.env['TMPDIR'] = dir
  await makePage()
  const built = await buildPrograms()
  process.env['SLUICE_BUILT'] = built
  return () => {
    const left = readdirSync(dir).filter((name) => ours.test(name))
    for (const made of [dir, built]) rmSync(made, { recursive: true, force: true })
    if (left.length > 0) throw new Error(`temporary files were left behind: ${left.join(', ')}`)
  }
}

/**
 * Memory, where there is enough of it: many tests wait until their few bytes are on the disk, which takes
 * milliseconds each time. The slow tests use the real disk.
 */
function quickDisk(): string {
  const memory = '/dev/shm'
  try {
    accessSync(memory, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > 2 ** 30 ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}
