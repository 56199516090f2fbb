import { copyFileSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { beside } from '../scripts/beside.ts'

/**
 * What tests start as processes, beside the entries of the package. Translating it at each start would take
 * most of their time.
 */
const programs = [
  ...['src/cli/main.ts', 'src/disk/lock.ts'],
  ...['test/faults/big.ts', 'test/faults/server.ts', 'test/disk/make-event.ts'],
]

/**
 * The built file of a source file, for a process that a test starts.
 *
 * @example
 * spawn(process.execPath, [built('src/cli/main.ts'), '--version'])
 */
export function built(source: string): string {
  return join(process.env['SLUICE_BUILT']!, source.replace(/\.ts$/, '.js'))
}

/** Builds them once for all tests of a run, where the packages of this repository are found. */
export async function buildPrograms(): Promise<string> {
  const cache = join(import.meta.dirname, '../node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const dir = mkdtempSync(join(cache, 'sluice-tests-'))
  // The command asks its package for the version.
  copyFileSync(join(import.meta.dirname, '../package.json'), join(dir, 'package.json'))
  const entries = readdirSync('src')
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `src/${name}`)
  await build({
    entryPoints: [...entries, ...programs],
    outbase: '.',
    outdir: dir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    plugins: [beside],
    sourcemap: 'inline',
    logLevel: 'error',
  })
  // The root looks for it beside itself.
  copyFileSync(join(dir, 'load-ajv.cjs'), join(dir, 'src', 'load-ajv.cjs'))
  return dir
}
