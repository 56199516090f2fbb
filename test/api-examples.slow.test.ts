import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { pageExamples } from './page-examples.ts'
import { codeOf, pageAt, programOf } from './page-programs.ts'

// Every @example of a public name is code that a reader may copy: it compiles, in one program for speed.

const root = fileURLToPath(new URL('..', import.meta.url))
/** What is public, in as few entries as have all of it. */
const entries = ['views', 'index', 'nats', 'serve', 'work', 'events', 'values'].map((name) =>
  join(root, `src/${name}.ts`),
)

/** What the examples take for granted: names that a reader has in his own program. */
const given = `
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
declare const child: ChildProcess & { stdout: Readable; stderr: Readable }
declare const pty: Readable
declare const file: Readable
declare const response: import('node:http').ServerResponse
declare const signal: AbortSignal
declare const prompt: string
declare const task: string
declare const text: string
declare const bytes: Uint8Array
declare const stream: import('node:stream').Writable
declare const outcome: api.Outcome<unknown>
declare const event: api.AgentEvent
declare const order: WorkOrder
declare const call: api.AskCall
declare const schema: import('@standard-schema/spec').StandardSchemaV1<unknown, { issues: { file: string; line: number }[] }>
declare const Report: typeof schema
declare const Issue: import('@standard-schema/spec').StandardSchemaV1<unknown, { file: string; line: number }>
declare const render: (value: unknown) => void
declare const save: (value: unknown) => void
declare const item: { id: string; text: string }
declare const record: { thread_id: string }
declare const say: Say
declare const double: Stage<number, number>
declare const readerThatKeepsAtMost: (max: number) => EngineReader
declare const isRecord: (value: unknown) => value is Record<string, unknown>
declare const marker: (key: OutboxKey) => string
declare const findComment: (marker: string) => Promise<string | undefined>
declare const addCommentOnce: (issue: string, text: string) => Promise<string | undefined>
declare const client: { complete(prompt: string, options: object): Promise<{ text: string }> }
declare const use: (value: unknown) => void
declare const command: string
declare const args: string[]
declare const cache: api.Cache
declare const runs: Ledger
declare const trace: { getTracer(name: string): import('@opentelemetry/api').Tracer }
declare const saveForLater: (post: OutboxPost) => Promise<void>
`

const options: ts.CompilerOptions = {
  ...ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config.compilerOptions,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  moduleDetection: ts.ModuleDetectionKind.Force,
  allowImportingTsExtensions: true,
  noEmit: true,
  noUnusedLocals: false,
  // The files in examples/ import the package by its name.
  paths: { 'agent-sluice': [join(root, 'src/index.ts')], 'agent-sluice/*': [join(root, 'src/*.ts')] },
}

/** What the entries export, each name with the first entry that has it. */
function exportsOf(program: ts.Program): Map<string, { symbol: ts.Symbol; entry: string }> {
  const checker = program.getTypeChecker()
  const found = new Map<string, { symbol: ts.Symbol; entry: string }>()
  for (const entry of entries)
    for (const symbol of checker.getExportsOfModule(
      checker.getSymbolAtLocation(program.getSourceFile(entry)!)!,
    ))
      if (!found.has(symbol.name)) found.set(symbol.name, { symbol, entry })
  return found
}

/** The examples in the doc comments of what the entries export, each with its place. */
function examplesOf(program: ts.Program): { name: string; code: string }[] {
  const checker = program.getTypeChecker()
  const found = new Map<string, string>()
  for (const { symbol: exported } of exportsOf(program).values()) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
    for (const declaration of symbol.declarations ?? []) {
      if (!declaration.getSourceFile().fileName.startsWith(join(root, 'src'))) continue
      const members = ts.isInterfaceDeclaration(declaration) ? declaration.members : []
      for (const tag of [declaration, ...members].flatMap((node) => ts.getJSDocTags(node))) {
        const code = ts.getTextOfJSDocComment(tag.comment)
        if (tag.tagName.text === 'example' && code) found.set(code, exported.name)
      }
    }
  }
  return [...found].map(([code, name]) => ({ name, code }))
}

test('every @example of the public API, every file in examples/ and every program on a page compiles', {
  timeout: 300_000,
}, () => {
  const host = ts.createCompilerHost(options)
  const first = ts.createProgram(entries, options, host)
  const examples = examplesOf(first)
  expect(examples.length).toBeGreaterThan(40)

  const exported = [...exportsOf(first)].filter(([name]) => !given.includes(`declare const ${name}:`))
  const imports = entries.map((entry) => {
    const names = exported.filter(([, found]) => found.entry === entry).map(([name]) => name)
    return `import { ${names.join(', ')} } from './src/${basename(entry)}'`
  })
  const files = new Map<string, string>(
    examples.map(({ name, code }, n) => {
      const source = `import * as api from './src/index.ts'
${imports.join('\n')}
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
${given}
// What an example declares itself hides what is given.
async function example() {
${code}
}
void example`
      return [join(root, `example-${n}-${name}.ts`), source] as const
    }),
  )
  for (const [page, programs] of Object.entries(pageExamples))
    for (const [name, example] of Object.entries(programs))
      files.set(
        join(root, `${basename(page, '.md')}-${name}.mts`),
        programOf(codeOf(pageAt(page), name), example),
      )
  const readFile = host.readFile.bind(host)
  const getSourceFile = host.getSourceFile.bind(host)
  const fileExists = host.fileExists.bind(host)
  host.fileExists = (path) => files.has(path) || fileExists(path)
  host.readFile = (path) => files.get(path) ?? readFile(path)
  host.getSourceFile = (path, ...rest) => {
    const text = files.get(path)
    return text === undefined
      ? getSourceFile(path, ...rest)
      : ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  }
  const programs = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'))
  expect(programs).toContain('ask.ts')
  const paths = [...files.keys(), ...programs.map((name) => join(root, 'examples', name))]
  const program = ts.createProgram(
    [...paths, join(root, 'test/ndjson.d.ts')],
    { ...options, verbatimModuleSyntax: false },
    host,
    first,
  )
  const wrong = paths.flatMap((path) => {
    const file = program.getSourceFile(path)!
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      ({ start = 0, messageText }) => {
        const line = file.text.slice(file.text.lastIndexOf('\n', start) + 1).split('\n')[0]
        return `${path.slice(dirname(path).length + 1)}: ${line?.trim()}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
      },
    )
  })
  expect(wrong).toEqual([])
})
