import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'esbuild'

/**
 * Keeps two CommonJS files of their own beside the built modules. The one that loads ajv, because inside an
 * ES module `require` does not exist; the text of the page, because modules of both formats can load it, so
 * that the package has it once.
 */
export const commonJsBeside: Plugin = {
  name: 'commonjs-beside',
  setup({ initialOptions, onResolve, onEnd }) {
    onResolve({ filter: /\/load-ajv\.cjs$/ }, () => ({ path: './load-ajv.cjs', external: true }))
    onResolve({ filter: /\/page-text\.ts$/ }, () => ({ path: './page-text.cjs', external: true }))
    onEnd(() => {
      const folder = initialOptions.outdir!
      mkdirSync(folder, { recursive: true })
      copyFileSync('src/values/schema/load-ajv.cjs', join(folder, 'load-ajv.cjs'))
      // Assigned one by one, every bundler finds the names.
      const text = readFileSync('src/serve/page-text.ts', 'utf8')
      writeFileSync(join(folder, 'page-text.cjs'), text.replaceAll(/^export const (\w+) =/gm, 'exports.$1 ='))
    })
  },
}
