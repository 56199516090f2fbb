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
    dts: { entry: doors, compilerOptions: { ignoreDeprecations: '6.0' } },
  },
  {
    ...shared,
    entry: doors,
    format: 'cjs',
    splitting: false,
    shims: true, // import.meta.url, which `createRequire` needs
    dts: { entry: doors, compilerOptions: { ignoreDeprecations: '6.0' } },
  },
])
