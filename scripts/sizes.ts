// What an import of the package costs in a bundle: built from dist by esbuild, minified, gzipped. Fails over
// a limit. `npm run sizes -- --write` puts the table into docs/runtimes.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { argv, exit } from 'node:process'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** One import, and its maximum size, in KB of 1000 bytes after gzip. */
interface Import {
  readonly names: string
  readonly entry: 'values' | 'events' | 'web' | 'json-schema'
  /** A little above the actual size, so that growth is noticed. */
  readonly limit: number
  readonly goal?: number
  /** Why the goal is missed. */
  readonly missed?: string
}

const imports: readonly Import[] = [
  {
    names: '{ frameStage }',
    entry: 'values',
    limit: 23,
    goal: 12,
    missed:
      'What is left is cutting alone: tags and objects in torn text, fences of CommonMark, think blocks, terminal escapes and limits, all with exact byte offsets',
  },
  { names: '{ frames }', entry: 'values', limit: 25 },
  { names: '{ tryParse }', entry: 'values', limit: 50.5 },
  { names: '{ values }', entry: 'values', limit: 65 },
  {
    names: '*',
    entry: 'values',
    limit: 67.5,
    goal: 30,
    missed:
      'The repair takes 14 KB, because it refuses what it cannot be sure of, and the elements of huge documents (`items`) and `where` take 13 KB, which `tryParse` leaves out',
  },
  { names: '{ events, codex }', entry: 'events', limit: 84.5 },
  { names: '{ events, auto }', entry: 'events', limit: 120 },
  {
    names: '*',
    entry: 'events',
    limit: 124.5,
    goal: 55,
    missed:
      '18 engines and 8 formats of session files take 34 KB, and payloads in messages need all of `tryParse`, 40 KB. A bundle that names its engine leaves the others out',
  },
  { names: '{ tryParse }', entry: 'web', limit: 51.5 },
  { names: '{ events, codex }', entry: 'web', limit: 86.5 },
  { names: '*', entry: 'web', limit: 140.5 },
  { names: '*', entry: 'json-schema', limit: 48.5 },
]

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
    `import ${names} from 'agent-sluice/${entry}' is ${kb(gzip)} KB, over its limit of ${limit} KB`,
  )
if (argv.includes('--write')) writeFileSync(page, withTable(readFileSync(page, 'utf8'), tableOf(measured)))
if (measured.some(({ gzip, limit }) => gzip > limit)) exit(1)

/**
 * In KB. The package is found by its own name, so `exports` and `sideEffects` count as they do for a user.
 */
async function sizeOf({ names, entry }: Import): Promise<{ min: number; gzip: number }> {
  const bundle = await build({
    stdin: { contents: `export ${names} from 'agent-sluice/${entry}'`, resolveDir: '.' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    platform: entry === 'web' ? 'browser' : 'node',
  })
  const [file] = bundle.outputFiles
  if (!file) throw new Error(`esbuild made no bundle of ${entry}`)
  return { min: file.contents.length / 1000, gzip: gzipSync(file.contents, { level: 9 }).length / 1000 }
}

function tableOf(rows: readonly (Import & { min: number; gzip: number })[]): string {
  const missed = rows.filter(({ goal, gzip }) => goal !== undefined && gzip > goal)
  return [
    '| `import` | minified | and gzipped | limit | goal |',
    '| --- | --: | --: | --: | --: |',
    ...rows.map(({ names, entry, min, gzip, limit, goal }) => {
      const wanted = goal === undefined ? '' : gzip > goal ? `${goal} (missed)` : goal
      return `| \`${names}\` from \`agent-sluice/${entry}\` | ${kb(min)} | ${kb(gzip)} | ${limit} | ${wanted} |`
    }),
    '',
    ...missed.map(
      ({ names, entry, goal, missed }) =>
        `- \`${names}\` of \`/${entry}\` is over the goal of ${goal} KB. ${missed}.`,
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
