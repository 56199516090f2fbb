import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installInto } from '../../test/installed.ts'

/**
 * A new project with the packed package installed, and with the other packages that the programs of
 * test/consumer use.
 */
export function installedProject(): string {
  const home = mkdtempSync(join(tmpdir(), 'sluice-project-'))
  installInto(home, ['@lydell/node-pty', 'zod', 'esbuild'])
  return home
}
