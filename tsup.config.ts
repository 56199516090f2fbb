import { defineConfig, type Options } from 'tsup'
import { pureNamespaces } from './scripts/pure-namespaces.ts'
import { webBuild } from './scripts/web-build.ts'

const doors = {
  index: 'src/index.ts',
  engines: 'src/engines.ts',
  events: 'src/events.ts',
  'json-schema': 'src/json-schema.ts',
  values: 'src/values.ts',
}
const all = { ...doors, web: 'src/web.ts' }

const shared: Options = {
  target: 'node20.19',
  platform: 'node',
  removeNodeProtocol: false,
  outDir: 'dist',
}
const types = { compilerOptions: { ignoreDeprecations: '6.0' } }

// Splitting stays off for CommonJS: with it, tsup runs an old transform over `?.` and `??`.
export default defineConfig([
  {
    ...shared,
    entry: { ...doors, 'cli/main': 'src/cli/main.ts' },
    format: 'esm',
    splitting: true,
    plugins: [pureNamespaces],
  },
  { ...shared, entry: doors, format: 'cjs', splitting: false },
  { ...webBuild, outDir: 'dist' },
  // The types of both formats and all platforms are made at once: reading the sources for them is nearly all of the work.
  { ...shared, entry: all, format: ['esm', 'cjs'], dts: { entry: all, only: true, ...types } },
])
