import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** One token of src, and what it is replaced by. */
export interface Mutant {
  readonly id: number
  readonly file: string
  readonly line: number
  /** Offset in characters. */
  readonly at: number
  readonly old: string
  readonly now: string
}

/** A test that a mutant broke, and how: an assertion failed, or it threw something else and says nothing. */
export interface MutantEnd {
  readonly id: number
  readonly by: 'assertion' | 'crash'
  readonly test: string
}

const opposite: Record<string, string> = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' },
  ...{ '&&': '||', '||': '&&', '+': '-', '-': '+' },
}

/** Every token below these folders of src that can be changed so that the code still compiles. */
export function allMutants(root: string, folders: readonly string[]): Mutant[] {
  const mutants: Mutant[] = []
  for (const file of folders.flatMap((folder) => sourceFiles(root, join('src', folder)))) {
    const text = readFileSync(join(root, file), 'utf8')
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    const visit = (node: ts.Node) => {
      const change = changeOf(node)
      if (change) {
        const at = change.at
        const line = source.getLineAndCharacterOfPosition(at).line + 1
        mutants.push({ id: mutants.length + 1, file, line, ...change })
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return mutants
}

/**
 * The code with all of its mutants in it, each behind a switch: `__mutant(7)` says whether the seventh is on.
 * Each turn of a loop calls `__turn()`, which ends a loop that a mutant made endless.
 */
export function withSwitches(text: string, mutants: readonly Mutant[]): string {
  const source = ts.createSourceFile('', text, ts.ScriptTarget.Latest, true)
  const byOffset = new Map(mutants.map((mutant) => [mutant.at, mutant]))

  const written = (node: ts.Node): string => {
    const plain = withChildren(node)
    const change = changeOf(node)
    const mutant = change && byOffset.get(change.at)
    if (ts.isIterationStatement(node, false)) return withTurns(node)
    if (!mutant) return plain
    if (ts.isBinaryExpression(node)) {
      const [left, right] = [written(node.left), written(node.right)]
      return `(__mutant(${mutant.id}) ? (${left} ${mutant.now} ${right}) : (${left} ${mutant.old} ${right}))`
    }
    if (ts.isPrefixUnaryExpression(node)) {
      const operand = written(node.operand)
      return `(__mutant(${mutant.id}) ? (${operand}) : !(${operand}))`
    }
    return `(__mutant(${mutant.id}) ? ${mutant.now} : ${mutant.old})`
  }
  const withChildren = (node: ts.Node): string => {
    let result = ''
    let at = node.getStart(source)
    ts.forEachChild(node, (child) => {
      result += text.slice(at, child.getStart(source)) + written(child)
      at = child.end
    })
    return result + text.slice(at, node.end)
  }
  const withTurns = (loop: ts.IterationStatement): string => {
    const body = loop.statement
    const head = new Map<ts.Node, string>([[body, `{ __turn(); ${written(body)} }`]])
    let result = ''
    let at = loop.getStart(source)
    ts.forEachChild(loop, (child) => {
      result += text.slice(at, child.getStart(source)) + (head.get(child) ?? written(child))
      at = child.end
    })
    return result + text.slice(at, loop.end)
  }
  return text.slice(0, source.getStart(source)) + withChildren(source)
}

/** The code with one mutant in place of its token. */
export function withMutant(text: string, { at, old, now }: Mutant): string {
  return text.slice(0, at) + now + text.slice(at + old.length)
}

function changeOf(node: ts.Node): { at: number; old: string; now: string } | undefined {
  const at = node.getStart()
  if (ts.isBinaryExpression(node)) {
    const old = node.operatorToken.getText()
    return opposite[old] === undefined
      ? undefined
      : { at: node.operatorToken.getStart(), old, now: opposite[old] }
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return { at, old: '!', now: '' }
  if (ts.isSourceFile(node) || ts.isLiteralTypeNode(node.parent)) return undefined
  if (ts.isNumericLiteral(node) && /^[0-9]$/.test(node.text))
    return { at, old: node.text, now: String(Number(node.text) + 1) }
  if (node.kind === ts.SyntaxKind.TrueKeyword) return { at, old: 'true', now: 'false' }
  if (node.kind === ts.SyntaxKind.FalseKeyword) return { at, old: 'false', now: 'true' }
  return undefined
}

function sourceFiles(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return sourceFiles(root, path)
    return path.endsWith('.ts') ? [path] : []
  })
}
