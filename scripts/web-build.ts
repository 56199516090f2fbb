import { resolve } from 'node:path'
import { transformSync } from 'esbuild'
import type { Options } from 'tsup'
import { pureNamespaces } from './pure-namespaces.ts'

/** Replaces the platform of Node with that of the Web. */
const webPlatform: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'web-platform',
  setup(build) {
    build.onResolve({ filter: /\/platform\.ts$/ }, () => ({ path: resolve('src/base/platform-web.ts') }))
  },
}

/** The mark of what a bundler may drop; and in its place what esbuild keeps, and nobody writes. */
const [pure, kept] = ['/* @__PURE__ */ ', '~-~-~']

/** Whitespace is a quarter of the file. Lines and names stay, for a stack trace to point to. */
const shortLines: NonNullable<Options['plugins']>[number] = {
  name: 'short-lines',
  renderChunk(source) {
    if (source.includes(kept)) throw new Error(`the source of the entry has a ${kept}`)
    const marked = source.replaceAll(pure, kept)
    const { code } = transformSync(marked, { target: 'es2022', minifyWhitespace: true, lineLimit: 120 })
    return { code: code.replaceAll(kept, pure.trim()) }
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
  plugins: [pureNamespaces, shortLines],
}
