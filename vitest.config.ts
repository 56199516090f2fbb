import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/temp.ts',
    setupFiles: 'test/plain-schemas.ts',
    typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], ignoreSourceErrors: true },
    testTimeout: 120_000,
    // Real processes, sockets and signals on a machine that others use, too: one more try, and the report says so.
    retry: process.env['CI'] ? 1 : 0,
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
