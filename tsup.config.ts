import { resolve } from 'node:path'
import { defineConfig, type Options } from 'tsup'

const doors = {
  index: 'src/index.ts',
  engines: 'src/engines.ts',
  events: 'src/events.ts',
  'json-schema': 'src/json-schema.ts',
  values: 'src/values.ts',
}
const web = { web: 'src/web.ts' }
const all = { ...doors, ...web }

const shared: Options = {
  target: 'node20.19',
  platform: 'node',
  removeNodeProtocol: false,
  outDir: 'dist',
}
const types = { compilerOptions: { ignoreDeprecations: '6.0' } }

/** Puts the Web's version of the platform in the place of Node's. */
const webPlatform: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'web-platform',
  setup(build) {
    build.onResolve({ filter: /\/platform\.ts$/ }, () => ({ path: resolve('src/base/platform-web.ts') }))
  },
}

// Splitting stays off for CommonJS: with it, tsup runs an old transform over `?.` and `??`.
export default defineConfig([
  {
    ...shared,
    entry: { ...doors, 'cli/main': 'src/cli/main.ts' },
    format: 'esm',
    splitting: true,
  },
  { ...shared, entry: doors, format: 'cjs', splitting: false },
  {
    ...shared,
    entry: web,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    splitting: false,
    noExternal: [/@noble\/hashes/],
    esbuildPlugins: [webPlatform],
  },
  // The types of both formats and all platforms are made at once: reading the sources for them is nearly all of the work.
  { ...shared, entry: all, format: ['esm', 'cjs'], dts: { entry: all, only: true, ...types } },
])
