import type { Options } from 'tsup'

/**
 * esbuild fills the object of `import * as engines` by a call at the top level, and a bundler must keep such a call
 * with everything that it names: one engine would bring all of them. As a pure expression it goes when it is not used.
 */
export const pureNamespaces: NonNullable<Options['plugins']>[number] = {
  name: 'pure-namespaces',
  renderChunk(code) {
    // Lines stay where they are, so a source map stays true.
    const pure = code.replace(
      /^var (\w+) = \{\};\n__export\(\1, (\{[^{}]*\})\);$/gm,
      'var $1 = /* @__PURE__ */ ((all) => (\n__export(all, $2), all))({});',
    )
    return { code: pure }
  },
}
