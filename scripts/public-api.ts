import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

// What a program can import, read from the sources by the compiler.

export const root = fileURLToPath(new URL('..', import.meta.url))

const { exports: subpaths } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The entries of the package, each named as its file in src/. */
export const entries: readonly string[] = Object.keys(subpaths)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => (path === '.' ? 'index' : path.slice('./'.length)))

/** The entries as one program. Creating it takes a few CPU seconds, so create it once. */
export function publicProgram(): ts.Program {
  return ts.createProgram(
    entries.map((entry) => join(root, `src/${entry}.ts`)),
    {
      target: ts.ScriptTarget.ES2023,
      lib: ['lib.es2023.d.ts'],
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      allowImportingTsExtensions: true,
      resolveJsonModule: true,
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
    },
  )
}

/** The exports of a file in src/, by name. */
export function exportsOf(program: ts.Program, name: string): Map<string, ts.Symbol> {
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(join(root, `src/${name}.ts`))!
  return new Map(
    checker
      .getExportsOfModule(checker.getSymbolAtLocation(file)!)
      .map((symbol) => [symbol.name, declared(checker, symbol)]),
  )
}

/** The symbol that an import or a re-export refers to. */
export function declared(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}
