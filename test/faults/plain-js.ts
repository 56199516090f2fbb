import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Translates files of this repository, and what they import, to plain JavaScript in a directory of their own:
 * a process that is started a hundred times must not translate them each time.
 */
export function plainJs(...paths: readonly string[]): string {
  const out = mkdtempSync(join(tmpdir(), 'sluice-plain-'))
  writeFileSync(join(out, 'package.json'), '{"type":"module"}')
  const files = new Set(paths)
  // What is added on the way is visited, too.
  for (const file of files) {
    const { outputText } = ts.transpileModule(readFileSync(join(root, file), 'utf8'), {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2023,
        verbatimModuleSyntax: true,
        rewriteRelativeImportExtensions: true,
      },
    })
    for (const { fileName } of ts.preProcessFile(outputText).importedFiles)
      if (fileName.startsWith('.')) files.add(join(dirname(file), fileName.replace(/\.js$/, '.ts')))
    const to = join(out, file.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, outputText)
  }
  return out
}
