import { copyFileSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Plugin } from 'esbuild'

const loader = 'src/values/schema/load-ajv.cjs'
const name = basename(loader)

/**
 * Keeps the CommonJS file that loads ajv a file of its own beside the built modules: inside an ES module,
 * `require` does not exist.
 */
export const ajvBeside: Plugin = {
  name: 'ajv-beside',
  setup({ initialOptions, onResolve, onEnd }) {
    onResolve({ filter: /\/load-ajv\.cjs$/ }, () => ({ path: `./${name}`, external: true }))
    onEnd(() => {
      mkdirSync(initialOptions.outdir!, { recursive: true })
      copyFileSync(loader, join(initialOptions.outdir!, name))
    })
  },
}
