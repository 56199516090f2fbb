// The public surface as one text: docs/api/surface.txt, which `npm run api` writes. A change of it shows in
// every diff, and must be told: `npm run api -- --check` wants a line of CHANGELOG.md in the same commit.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { codeOf, declarationsOf, typesNamedBy } from './api-pages.ts'
import { entries, exportsOf, root } from './public-api.ts'

export const SURFACE = 'docs/api/surface.txt'
const CHANGELOG = 'CHANGELOG.md'

const head = `The public surface: what each entry exports, then every declaration, without comments.
\`npm run api\` writes this file. A change of it is told in ${CHANGELOG}, in the same commit.
`

/** Names and signatures of everything that a program can import, and of the types that those name. */
export function surfaceText(program: ts.Program): string {
  const checker = program.getTypeChecker()
  const exported = entries.map((entry) => [entry, exportsOf(program, entry)] as const)
  const symbols = new Set(exported.flatMap(([, all]) => [...all.values()]))
  // A Set iterates in insertion order, so this also reaches the types that it adds.
  for (const symbol of symbols) for (const type of typesNamedBy(checker, symbol)) symbols.add(type)
  const lists = exported.map(([entry, all]) => {
    const name = entry === 'index' ? 'agent-sluice' : `agent-sluice/${entry}`
    return `${name}: ${[...all.keys()].sort().join(' ')}\n`
  })
  const declarations = [...symbols].map((symbol) =>
    declarationsOf(checker, symbol)
      .map((node) => withoutComments(codeOf(checker, node)))
      .join('\n'),
  )
  return [head, ...lists, ...declarations.sort()].join('\n').trimEnd().concat('\n')
}

const printer = ts.createPrinter({ removeComments: true, newLine: ts.NewLineKind.LineFeed })

function withoutComments(code: string): string {
  const file = ts.createSourceFile('surface.ts', code, ts.ScriptTarget.Latest, true)
  return printer.printFile(file)
}

/** What is wrong with the surface, in words; nothing if all is well. */
export function surfaceFaults(text: string, dir = root): string[] {
  const there = readFileSync(join(dir, SURFACE), 'utf8')
  if (there !== text) return [`${SURFACE} is not what the code exports; run npm run api, and commit it`]
  const change = lastChange(dir)
  if (!change || hasNewLine(dir, change)) return []
  return [`${SURFACE} has changed, but ${CHANGELOG} has no new line; tell what users have to know of it`]
}

/**
 * The last change of the surface: what is not committed yet, or the commit that changed it, as two ends of a
 * diff. So it does not matter what is checked out, or how many commits came since. Undefined without a
 * history, as in an archive: then there is nothing to compare with. In a shallow clone the same holds if the
 * commit is the oldest one, as all files are new in it.
 */
function lastChange(dir: string): readonly string[] | undefined {
  if (git(dir, 'status', '--porcelain', '--', SURFACE)) return ['HEAD']
  const commit = git(dir, 'log', '-1', '--format=%H', '--', SURFACE)
  const parent = commit && git(dir, 'rev-parse', '--verify', '--quiet', `${commit}^`)
  return parent ? [parent, commit] : undefined
}

/** Whether the changelog got a point of a list, or a row of a table. */
function hasNewLine(dir: string, change: readonly string[]): boolean {
  return /^\+(?:- |\| )/m.test(git(dir, 'diff', '--unified=0', ...change, '--', CHANGELOG) ?? '')
}

function git(dir: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', ['-C', dir, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return undefined
  }
}
