import { defineConfig, type Options } from 'tsup'

const doors = { index: 'src/index.ts', engines: 'src/engines.ts' }

const shared: Options = {
  target: 'node20.19',
  platform: 'node',
  removeNodeProtocol: false,
  outDir: 'dist',
}

// Splitting stays off for CommonJS: with it, tsup runs an old transform over `?.` and `??`.
export default defineConfig([
  {
    ...shared,
    entry: { ...doors, 'cli/main': 'src/cli/main.ts' },
    format: 'esm',
    splitting: true,
  },
  {
    ...shared,
    entry: doors,
    format: 'cjs',
    splitting: false,
    shims: true, // import.meta.url, which `createRequire` needs
  },
  // The types of both are made at once: reading all sources is nearly all of the work.
  {
    ...shared,
    entry: doors,
    format: ['esm', 'cjs'],
    dts: { entry: doors, only: true, compilerOptions: { ignoreDeprecations: '6.0' } },
  },
])
