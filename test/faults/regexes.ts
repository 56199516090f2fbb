import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const src = fileURLToPath(new URL('../../src', import.meta.url))

/** Every regular expression in src/, the page included, as `file /literal/flags`, sorted, each once. */
export function regexes(): string[] {
  const found = new Set<string>()
  for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.ts'))
      for (const text of inSource(readFileSync(join(src, file), 'utf8'))) found.add(`${file} ${text}`)
  }
  return [...found].sort()
}

/** The literals of a source text, and every expression that makes one at run time. */
export function inSource(text: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) found.push(node.text)
    else if (
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      ts.isIdentifier(node.expression) &&
      node.expression.text === 'RegExp'
    )
      found.push(node.getText())
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('source.ts', text, ts.ScriptTarget.ES2023, true))
  return found
}
