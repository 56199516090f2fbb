// Fails on what no formatter and no type checker sees: comments beyond the formatter's width, tracked files
// that a program made, and pages that have become too long to read. Part of `npm run check`.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, extname } from 'node:path'
import ts from 'typescript'

const WIDTH: number = JSON.parse(readFileSync('biome.json', 'utf8')).formatter.lineWidth

/**
 * What the repository has at its top. Something else there was made by a program, or belongs on this list.
 */
const folders = ['.ci', 'bench', 'docs', 'examples', 'fixtures', 'schemas', 'scripts', 'src', 'test']
const files = [
  ...['.editorconfig', '.gitattributes', '.gitignore', '.npmrc', 'LICENSE', 'README.md', 'CHANGELOG.md'],
  ...['CONTRIBUTING.md', 'SECURITY.md', 'biome.json', 'knip.json', 'package.json', 'package-lock.json'],
  ...['tsconfig.json', 'tsup.config.ts', 'vitest.config.ts'],
]

/** Names that runs give to their files. Recorded runs have a place of their own. */
const madeByRuns = /^(events|chat|parser_diagnostics|ledger)\.jsonl$|^(stdout|stderr|pty|stdin)(\.\d+)?\.log$/
const RECORDED = 'fixtures/'

/** Made by the build from src/serve/page, so that no two changes of the page conflict in it. */
const PAGE = 'src/serve/page-text.js'

/** Words of README.md and docs/*.md, as `wc -w` counts them; the pages of the API do not count. */
const MAX_WORDS = 34_000

const tracked = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0').filter(existsSync)
const made = tracked.filter(wasMade).map((path) => `${path}: a program made this`)
const faults = [...made, ...wideComments(), ...longPages()]
for (const fault of faults) console.error(fault)
console.log(`${tracked.length} tracked files, ${faults.length} that are not tidy`)
process.exitCode = faults.length > 0 || tracked.length === 0 ? 1 : 0

function wasMade(path: string): boolean {
  const [top, ...rest] = path.split('/')
  if (!(rest.length > 0 ? folders : files).includes(top!)) return true
  if (path === PAGE) return true
  return !path.startsWith(RECORDED) && (madeByRuns.test(basename(path)) || path.includes('.audit/'))
}

function longPages(): string[] {
  const pages = tracked.filter((path) => path === 'README.md' || /^docs\/[^/]+\.md$/.test(path))
  const all = pages.reduce((sum, path) => sum + (readFileSync(path, 'utf8').match(/\S+/g)?.length ?? 0), 0)
  return all > MAX_WORDS ? [`README.md and docs have ${all} words, over ${MAX_WORDS}: cut what repeats`] : []
}

function wideComments(): string[] {
  const ends = ['.ts', '.tsx', '.cts', '.js', '.cjs', '.css']
  return tracked
    .filter((path) => ends.includes(extname(path)) && !path.startsWith(RECORDED))
    .flatMap((path) =>
      wideCommentLines(path).map((line) => `${path}:${line}: a comment over ${WIDTH} columns`),
    )
}

function wideCommentLines(path: string): number[] {
  const text = readFileSync(path, 'utf8')
  const lines = text.split('\n')
  // Few files have a long line at all, and only those are parsed.
  if (lines.every((line) => line.length <= WIDTH || line.length > 10_000)) return []
  const ranges = path.endsWith('.css') ? commentsOfCss(text) : commentsOfCode(path, text)
  let from = 0
  return lines.flatMap((line, index) => {
    const to = from + line.length
    const wide = line.length > WIDTH && ranges.some(({ pos, end }) => pos < to && end >= to)
    from = to + 1
    return wide ? [index + 1] : []
  })
}

function commentsOfCss(text: string): ts.TextRange[] {
  return [...text.matchAll(/\/\*[\s\S]*?\*\//g)].map(({ index, 0: { length } }) => ({
    pos: index,
    end: index + length,
  }))
}

function commentsOfCode(path: string, text: string): ts.TextRange[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const ranges: ts.TextRange[] = []
  const visit = (node: ts.Node): void => {
    const children = node.getChildren(source)
    for (const child of children) visit(child)
    if (children.length > 0) return
    ranges.push(...(ts.getLeadingCommentRanges(text, node.pos) ?? []))
    ranges.push(...(ts.getTrailingCommentRanges(text, node.end) ?? []))
  }
  visit(source)
  return ranges
}
