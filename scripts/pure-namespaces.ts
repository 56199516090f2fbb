import type { Options } from 'tsup'

/**
 * esbuild fills the object of `import * as engines` by a call at the top level, and a bundler must keep such
 * a call with everything that it refers to: one engine would include all of them. A pure expression is
 * dropped if it is unused.
 */
export const pureNamespaces: NonNullable<Options['plugins']>[number] = {
  name: 'pure-namespaces',
  renderChunk(code) {
    const pure = code.replace(
      /^var (\w+) = \{\};\n__export\(\1, (\{[^{}]*\})\);$/gm,
      'var $1 = /* @__PURE__ */ ((all) => (\n__export(all, $2), all))({});',
    )
    return { code: pure }
  },
}
