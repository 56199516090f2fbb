import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ts from 'typescript'
import { installInto } from '../../test/installed.ts'

/** A fresh project with the packed package installed, and with what the programs for it use beside it. */
export function installedProject(): string {
  const home = mkdtempSync(join(tmpdir(), 'sluice-project-'))
  installInto(home, ['@lydell/node-pty', 'zod', 'esbuild'])
  return home
}

/** Puts a program into the project as plain JavaScript, for runtimes that do not read TypeScript. */
export function compileInto(home: string, source: string, name: string): string {
  const { outputText } = ts.transpileModule(readFileSync(source, 'utf8'), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
  })
  const path = join(home, name)
  writeFileSync(path, outputText)
  return path
}
