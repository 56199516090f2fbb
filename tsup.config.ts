import { dirname, resolve } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import { ajvBeside } from './scripts/ajv-beside.ts'
import { pureNamespaces } from './scripts/pure-namespaces.ts'
import { webBuild } from './scripts/web-build.ts'

/** The entries that stand alone as CommonJS. */
const alone = {
  engines: 'src/engines.ts',
  events: 'src/events.ts',
  'json-schema': 'src/json-schema.ts',
  values: 'src/values.ts',
  views: 'src/views.ts',
}
/** Those that share `node.cjs` there. */
const together = {
  index: 'src/index.ts',
  nats: 'src/nats.ts',
  serve: 'src/serve.ts',
  work: 'src/work.ts',
}
const doors = { ...together, ...alone }
const all = { ...doors, web: 'src/web.ts' }

const shared: Options = {
  target: 'node20.19',
  platform: 'node',
  removeNodeProtocol: false,
  outDir: 'dist',
  // The maps name the files in src, which are in the package once: with the text in them, every map would
  // hold it again.
  sourcemap: true,
  esbuildOptions(options) {
    options.sourcesContent = false
  },
}
const types = { compilerOptions: { ignoreDeprecations: '6.0' } }

/** Takes what an entry exports from the file that has all of it. */
const fromNode: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'from-node',
  setup(build) {
    const src = resolve('src')
    // A name must reach an entry by one list only: of two, it would be two different things, and neither
    // would be exported.
    build.onResolve({ filter: /^\.\// }, ({ path, importer }) => {
      const listed = dirname(resolve(src, path)) === src
      return dirname(importer) === src && !listed ? { path: './node.cjs', external: true } : undefined
    })
  },
}

// Splitting stays off for CommonJS: with it, tsup runs an old transform over `?.` and `??`.
export default defineConfig([
  {
    ...shared,
    entry: { ...doors, 'cli/main': 'src/cli/main.ts' },
    format: 'esm',
    splitting: true,
    plugins: [pureNamespaces],
    esbuildPlugins: [ajvBeside],
  },
  { ...shared, entry: { ...alone, node: 'src/node.ts' }, format: 'cjs', splitting: false },
  {
    ...shared,
    entry: together,
    format: 'cjs',
    splitting: false,
    sourcemap: false,
    esbuildPlugins: [fromNode],
  },
  // A browser cannot look into the package, so the map of this entry has the text.
  { ...webBuild, outDir: 'dist', sourcemap: true },
  // The types of both formats and all platforms are made at once: reading the sources for them is nearly all
  // of the work.
  { ...shared, entry: all, format: ['esm', 'cjs'], dts: { entry: all, only: true, ...types } },
])
