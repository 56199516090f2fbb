// What an import of the package costs in a bundle: built from dist by esbuild, minified, gzipped; and how
// large the package is. Fails over a limit. `npm run sizes -- --write` puts the table into docs/runtimes.md.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { argv, exit } from 'node:process'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** One import, and its maximum size, in KB of 1000 bytes after gzip. */
interface Import {
  readonly names: string
  readonly entry: '' | '/values' | '/events' | '/web' | '/json-schema'
  /** A little above the actual size, so that growth is noticed. */
  readonly limit: number
}

const imports: readonly Import[] = [
  { names: '{ frameStage }', entry: '/values', limit: 29.5 },
  { names: '{ frames }', entry: '/values', limit: 31.5 },
  { names: '{ tryParse }', entry: '/values', limit: 63.5 },
  { names: '{ values }', entry: '/values', limit: 77.5 },
  { names: '*', entry: '/values', limit: 84 },
  { names: '{ events, codex }', entry: '/events', limit: 109 },
  { names: '{ events, auto }', entry: '/events', limit: 152 },
  { names: '*', entry: '/events', limit: 160 },
  { names: '{ tryParse }', entry: '/web', limit: 64 },
  { names: '{ events, codex }', entry: '/web', limit: 109.5 },
  { names: '*', entry: '/web', limit: 173 },
  { names: '*', entry: '/json-schema', limit: 47 },
  // Without ajv, and with it.
  { names: '{ run }', entry: '', limit: 228.5 },
  { names: '{ run, jsonSchema }', entry: '', limit: 273 },
]

/** The package, in MB of 1000 KB: as it is downloaded, and on disk. */
const PACKAGE = { size: 1.8, unpackedSize: 6 }

const page = 'docs/runtimes.md'
const [start, end] = ['<!-- sizes:begin -->', '<!-- sizes:end -->']

if (!existsSync('dist/values.js')) {
  console.error('There is no dist: run `npm run build` first.')
  exit(2)
}
const measured = await Promise.all(imports.map(async (one) => ({ ...one, ...(await sizeOf(one)) })))
console.log(tableOf(measured))
for (const { names, entry, gzip, limit } of measured.filter(({ gzip, limit }) => gzip > limit))
  console.error(
    `import ${names} from 'agent-sluice${entry}' is ${kb(gzip)} KB, over its limit of ${limit} KB`,
  )
if (argv.includes('--write')) writeFileSync(page, withTable(readFileSync(page, 'utf8'), tableOf(measured)))
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    encoding: 'utf8',
    // npm is a .cmd file on Windows, which needs a shell.
    shell: process.platform === 'win32',
  }),
)
const mb = (bytes: number) => (bytes / 1e6).toFixed(2)
console.log(
  `the package: ${mb(packed.size)} MB, ${mb(packed.unpackedSize)} MB unpacked, ${packed.entryCount} files`,
)
const large = packed.size > PACKAGE.size * 1e6 || packed.unpackedSize > PACKAGE.unpackedSize * 1e6
if (large)
  console.error(`the package is over ${PACKAGE.size} MB, or over ${PACKAGE.unpackedSize} MB unpacked`)
if (large || measured.some(({ gzip, limit }) => gzip > limit)) exit(1)

/**
 * In KB. The package is found by its own name, so `exports` and `sideEffects` count as they do for a user.
 */
async function sizeOf({ names, entry }: Import): Promise<{ min: number; gzip: number }> {
  const bundle = await build({
    stdin: { contents: `export ${names} from 'agent-sluice${entry}'`, resolveDir: '.' },
    bundle: true,
    // Optional packages, which are loaded when they are used.
    external: ['@lydell/node-pty'],
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    platform: entry === '/web' ? 'browser' : 'node',
  })
  const [file] = bundle.outputFiles
  if (!file) throw new Error(`esbuild made no bundle of agent-sluice${entry}`)
  return { min: file.contents.length / 1000, gzip: gzipSync(file.contents, { level: 9 }).length / 1000 }
}

function tableOf(rows: readonly (Import & { min: number; gzip: number })[]): string {
  return [
    '| `import` | minified | and gzipped | limit |',
    '| --- | --: | --: | --: |',
    ...rows.map(
      ({ names, entry, min, gzip, limit }) =>
        `| \`${names}\` from \`agent-sluice${entry}\` | ${kb(min)} | ${kb(gzip)} | ${limit} |`,
    ),
  ].join('\n')
}

function kb(size: number): string {
  return size.toFixed(1)
}

function withTable(text: string, table: string): string {
  const [before, rest] = text.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the sizes`)
  return `${before}${start}\n${table}\n${end}${after}`
}
