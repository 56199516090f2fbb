import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Plugin, transformSync } from 'esbuild'

const loader = 'src/values/schema/load-ajv.cjs'
const page = 'src/serve/page-text.js'

/**
 * Keeps two files beside the built modules, both CommonJS, which modules of either kind can load: the one
 * that loads ajv, because inside an ES module `require` does not exist, and the text of the page, so that
 * the package has it once.
 */
export const beside: Plugin = {
  name: 'beside',
  setup({ initialOptions, onResolve, onEnd }) {
    onResolve({ filter: /\/(?:load-ajv\.cjs|page-text\.js)$/ }, ({ path }) => ({
      path: `./${path.slice(path.lastIndexOf('/') + 1).replace(/\.js$/, '.cjs')}`,
      external: true,
    }))
    onEnd(() => {
      const { outdir = '' } = initialOptions
      mkdirSync(outdir, { recursive: true })
      copyFileSync(loader, join(outdir, 'load-ajv.cjs'))
      const { code } = transformSync(readFileSync(page, 'utf8'), {
        format: 'cjs',
        platform: 'node',
        minifyWhitespace: true,
      })
      writeFileSync(join(outdir, 'page-text.cjs'), code)
    })
  },
}
