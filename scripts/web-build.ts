import { resolve } from 'node:path'
import type { Options } from 'tsup'
import { pureNamespaces } from './pure-namespaces.ts'

/** Puts the Web's version of the platform in the place of Node's. */
const webPlatform: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'web-platform',
  setup(build) {
    build.onResolve({ filter: /\/platform\.ts$/ }, () => ({ path: resolve('src/base/platform-web.ts') }))
  },
}

/** How the entry for browsers and workers is built: one file, with nothing of Node in it. */
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
