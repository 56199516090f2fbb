import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

const slowFiles = 'test/**/*.slow.test.ts'

/** Files whose tests are as long as the pace says: short in the quick set, at full length in the slow one. */
const paced = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name}`)
  .filter((path) => /\/(pace|growth)\.ts'/.test(readFileSync(path, 'utf8')))

const shared = {
  globalSetup: 'test/temp.ts',
  setupFiles: ['test/plain-schemas.ts', 'test/random-seed.ts'],
  testTimeout: 120_000,
  // Hooks compile the programs of pages, which takes as long as a test may on a busy host.
  hookTimeout: 120_000,
  // What a test polls for comes late on a busy host. A second, the default, is no proof that it does not
  // come.
  expect: { poll: { timeout: 30_000 } },
  restoreMocks: true,
  unstubEnvs: true,
}

export default defineConfig({
  test: {
    // By default one core is left free, which on two cores is half of them.
    maxWorkers: '100%',
    projects: [
      {
        // `npm test`: everything that does not take seconds of its own.
        test: {
          ...shared,
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: [slowFiles],
          // The files that one worker runs share their modules: loading them anew for each file took longer
          // than the tests.
          isolate: false,
        },
      },
      {
        // `npm run test:slow`: kills, big inputs, browsers, the packed package, types, and random properties
        // at full length.
        test: {
          ...shared,
          name: 'slow',
          include: [slowFiles, ...paced],
          env: { SLUICE_SLOW: '1' },
          typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], ignoreSourceErrors: true },
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      // It runs in a browser, where test/serve/page tests it.
      exclude: ['src/serve/page/**'],
      reporter: ['text-summary', 'json-summary'],
      thresholds: { lines: 95, branches: 95 },
    },
  },
})
