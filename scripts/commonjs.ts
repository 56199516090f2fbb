import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { transformSync } from 'esbuild'
import type { Options } from 'tsup'

/**
 * Writes the built modules as CommonJS: the same files, one by one, so that everything exists once there,
 * too. (tsup splits no CommonJS without an old transform over `?.` and `??`.)
 */
export function commonJs(entries: readonly string[]): NonNullable<Options['plugins']>[number] {
  return {
    name: 'commonjs',
    buildEnd({ writtenFiles }) {
      const [first] = writtenFiles
      if (first === undefined) return
      const written = new Set<string>()
      const write = (path: string) => {
        if (written.has(path)) return
        written.add(path)
        // Without its map, which the comment at its end would name.
        const code = bound(readFileSync(path, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, ''))
        const { code: built } = transformSync(code, {
          format: 'cjs',
          platform: 'node',
          target: 'node20.19',
          // `import()` of a chunk becomes a `require` of it.
          supported: { 'dynamic-import': false },
          // Half of the bytes, and still lines and names that a stack trace can point to.
          minifyWhitespace: true,
          lineLimit: 120,
        })
        const own = /(\brequire\(")(\.[^"]+)\.js("\))/g
        for (const [, , name] of built.matchAll(own)) write(join(dirname(path), `${name}.js`))
        writeFileSync(path.replace(/\.js$/, '.cjs'), built.replaceAll(own, '$1$2.cjs$3'))
      }
      const names = new Set(entries.map((entry) => `${entry}.js`))
      for (const { name } of writtenFiles) if (names.has(basename(name))) write(name)
    },
  }
}

/**
 * Names of other chunks become constants, where esbuild would look them up in `exports` at each use, which
 * made `tryParse` a quarter slower. No chunk changes what it exports.
 */
function bound(code: string): string {
  return code.replaceAll(
    /^import \{([^}]*)\} from ("\.[^"]+");$/gm,
    (_, names: string, path: string) => `const {${names.replaceAll(' as ', ': ')}} = require(${path});`,
  )
}
