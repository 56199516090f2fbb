// Bundles the page of `sluice serve` into src/serve/page-text.js, which git ignores: `npm run page`, and as
// the first step of the build (which `npm ci` runs), of `npm run check` and of every run of tests.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import process, { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { engines, sessions } from '../src/engines/engines-by-name.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const page = resolve(root, 'src/serve/page')
const pageTextFile = resolve(root, 'src/serve/page-text.js')

/** Writes src/serve/page-text.js at one stroke: another run of tests may be reading it. */
export async function makePage(): Promise<void> {
  const unfinished = `${pageTextFile}.${process.pid}`
  writeFileSync(unfinished, await pageText())
  renameSync(unfinished, pageTextFile)
}

async function pageText(): Promise<string> {
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
  const texts = {
    pageBody: body,
    pageStyle: short,
    pageScript: script,
    moreScript: more,
    moreStyle: moreShort,
    besideScript: beside,
    besideStyle: besideShort,
  }
  return Object.entries(texts)
    .map(([name, text]) => `export const ${name} = ${JSON.stringify(text)}\n`)
    .join('')
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
    define: { ENGINE_NAMES: JSON.stringify(Object.keys(engines).filter((name) => !(name in sessions))) },
  })
  return outputFiles[0]!.text
}

if (argv[1] === fileURLToPath(import.meta.url)) await makePage()
