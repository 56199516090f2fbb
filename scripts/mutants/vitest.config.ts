import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { type Mutant, withSwitches } from './sites.ts'

const root = join(import.meta.dirname, '../..')
const dir = process.env['SLUICE_MUTANTS']!
const mutants: Mutant[] = JSON.parse(readFileSync(join(dir, 'mutants.json'), 'utf8'))

// The set-up of all tests runs in this process, where no mutant is tried; it may read files with switches.
Object.assign(globalThis, { __mutant: () => false, __turn() {} })

export default defineConfig({
  root,
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre',
      transform(code, id) {
        const file = relative(root, id)
        const own = mutants.filter((mutant) => mutant.file === file)
        return own.length > 0 ? { code: withSwitches(code, own), map: null } : undefined
      },
    },
  ],
  test: {
    globalSetup: 'test/temp.ts',
    setupFiles: 'test/plain-schemas.ts',
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.slow.test.ts'],
    runner: join(import.meta.dirname, 'runner.ts'),
    isolate: false,
    maxWorkers: '100%',
    testTimeout: 120_000,
    dangerouslyIgnoreUnhandledErrors: true,
    restoreMocks: true,
    unstubEnvs: true,
    reporters: [['default', { summary: false }]],
  },
})
