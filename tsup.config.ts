import { defineConfig, type Options } from 'tsup'
import { beside } from './scripts/beside.ts'
import { commonJs } from './scripts/commonjs.ts'
import { pureNamespaces } from './scripts/pure-namespaces.ts'
import { webBuild } from './scripts/web-build.ts'

const doors = {
  index: 'src/index.ts',
  engines: 'src/engines.ts',
  events: 'src/events.ts',
  'json-schema': 'src/json-schema.ts',
  nats: 'src/nats.ts',
  serve: 'src/serve.ts',
  values: 'src/values.ts',
  views: 'src/views.ts',
  work: 'src/work.ts',
}
const all = { ...doors, web: 'src/web.ts' }

/** Without source maps: they were a third of the package, and the files are readable as they are. */
const shared: Options = {
  target: 'node20.19',
  platform: 'node',
  removeNodeProtocol: false,
  outDir: 'dist',
}
const types = { compilerOptions: { ignoreDeprecations: '6.0' } }

export default defineConfig([
  {
    ...shared,
    entry: { ...doors, 'cli/main': 'src/cli/main.ts' },
    format: 'esm',
    splitting: true,
    plugins: [pureNamespaces, commonJs(Object.keys(doors))],
    esbuildPlugins: [beside],
  },
  { ...webBuild, outDir: 'dist' },
  // The types of both formats and all platforms are made at once: reading the sources for them is nearly all
  // of the work.
  { ...shared, entry: all, format: ['esm', 'cjs'], dts: { entry: all, only: true, ...types } },
])
