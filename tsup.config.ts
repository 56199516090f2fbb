import { writeFileSync } from 'node:fs'
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

const esm: Options = {
  ...shared,
  entry: { ...doors, 'cli/main': 'src/cli/main.ts' },
  format: 'esm',
  splitting: true,
  plugins: [pureNamespaces, commonJs(Object.keys(doors))],
  esbuildPlugins: [beside],
}
const web: Options = { ...webBuild, outDir: 'dist' }
/**
 * The types of all platforms are made at once, as CommonJS: a module of either format can take them from
 * there, and a type is the same one for both.
 */
const types: Options = {
  ...shared,
  entry: all,
  format: 'cjs',
  dts: { entry: all, only: true, compilerOptions: { ignoreDeprecations: '6.0' } },
}

async function writeTypesOfEsm(): Promise<void> {
  for (const name of Object.keys(all)) writeFileSync(`dist/${name}.d.ts`, `export * from './${name}.cjs'\n`)
}

// `npm ci` builds with --no-dts: the types take most of the time of a build.
export default defineConfig(({ dts }) =>
  dts === false ? [esm, web] : [{ ...esm, onSuccess: writeTypesOfEsm }, web, types],
)
