import fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** One file that starts fast, with all packages in it. `source` is a path from here. */
export async function bundled(source: string, outfile: string): Promise<string> {
  await build({
    entryPoints: [fileURLToPath(new URL(source, import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    external: ['@lydell/node-pty'],
    banner: {
      js: "import { createRequire as __make } from 'node:module'; const require = __make(import.meta.url);",
    },
  })
  // The version of the command is read from there.
  fs.copyFileSync(
    fileURLToPath(new URL('../../package.json', import.meta.url)),
    join(outfile, '..', 'package.json'),
  )
  return outfile
}
