import { resolve } from 'node:path'
import type { Options } from 'tsup'
import { pureNamespaces } from './pure-namespaces.ts'

/** Replaces the platform of Node with that of the Web. */
const webPlatform: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'web-platform',
  setup(build) {
    build.onResolve({ filter: /\/platform\.ts$/ }, () => ({ path: resolve('src/base/platform-web.ts') }))
  },
}

/** The build of the entry for browsers and workers: one file, without anything of Node. */
export const webBuild: Options = {
  entry: { web: 'src/web.ts' },
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  splitting: false,
  noExternal: [/@noble\/hashes/],
  esbuildPlugins: [webPlatform],
  plugins: [pureNamespaces],
}
