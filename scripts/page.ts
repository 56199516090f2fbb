// Bundles the page of `sluice serve` into src/serve/page-text.ts: `npm run page`. The file is in the
// repository, so that the server runs from its sources without a build; test/serve/page-text.test.ts checks
// that it is current.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const page = resolve(root, 'src/serve/page')
export const pageTextFile = resolve(root, 'src/serve/page-text.ts')

/** The text of src/serve/page-text.ts, made from src/serve/page. */
export async function pageText(): Promise<string> {
  const body = readFileSync(resolve(page, 'page.html'), 'utf8').replace(/\n +/g, '\n')
  const [script, style, more, moreStyle, beside, besideStyle] = await Promise.all([
    bundle('main.ts', 'iife'),
    bundle('page.css'),
    bundle('list-more.ts'),
    bundle('more.css'),
    bundle('beside.ts'),
    bundle('beside.css'),
  ])
  const [short, moreShort, besideShort] = shortNames([style, moreStyle, besideStyle])
  return `// Made from src/serve/page by \`npm run page\`; do not edit.

/** What is inside <body>. */
export const pageBody = ${JSON.stringify(body)}

/** The style sheet. */
export const pageStyle = ${JSON.stringify(short)}

/** The script. It finds its data in the document, or asks the server it came from. */
export const pageScript = ${JSON.stringify(script)}

/** What the list loads when it is asked for more, and its style sheet. */
export const moreScript = ${JSON.stringify(more)}
export const moreStyle = ${JSON.stringify(moreShort)}

/** What shows all changes of a run, or two runs side by side, and its style sheet. */
export const besideScript = ${JSON.stringify(beside)}
export const besideStyle = ${JSON.stringify(besideShort)}
`
}

/** Custom properties with names of one or two characters: only the style sheets use them. */
function shortNames(styles: readonly string[]): string[] {
  const names = [...new Set(styles.join().match(/--[a-z-]+/g))]
  return styles.map((style) => style.replace(/--[a-z-]+/g, (name) => `--${names.indexOf(name).toString(36)}`))
}

async function bundle(entry: string, format: 'iife' | 'esm' = 'esm'): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [resolve(page, entry)],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    format,
    platform: 'browser',
    target: ['chrome111', 'firefox113', 'safari16.4'],
    legalComments: 'none',
    // The script must be pure ASCII: an export puts it into files of any encoding.
    charset: 'ascii',
  })
  return outputFiles[0]!.text
}

if (argv[1] === fileURLToPath(import.meta.url)) writeFileSync(pageTextFile, await pageText())
