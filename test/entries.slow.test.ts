import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { apiPages } from '../scripts/api-pages.ts'
import { entries, exportsOf, publicProgram, root } from '../scripts/public-api.ts'
import { SURFACE } from '../scripts/surface.ts'

// The names that a program can import, and those of the options.

const program = publicProgram()
const checker = program.getTypeChecker()
const namesOf = (entry: string) => exportsOf(program, entry)

describe('the root entry', () => {
  test('has the values that most programs need, and no others', async () => {
    expect(Object.keys(await import('../src/index.ts')).sort()).toEqual(
      [
        ...['tap', 'frames', 'values', 'events', 'lineReader', 'chat', 'jsonl', 'sse', 'parse', 'tryParse'],
        ...['ask', 'fileCache', 'journal'],
        ...['run', 'reply', 'replay', 'resume', 'jsonSchema', 'Fault', 'auto'],
      ].sort(),
    )
  })

  test('has no type that hides one of the platform or says nothing', () => {
    const hidden = ['Event', 'Comment', 'Pick', 'Record', 'Partial', 'Omit', 'Request', 'Response', 'Node']
    const vague = ['Good', 'Bad', 'Cut', 'Found', 'Step', 'Source']
    const names = new Set(namesOf('index').keys())
    expect([...hidden, ...vague, ...Object.keys(globalThis)].filter((name) => names.has(name))).toEqual([])
  })

  test('has at most 120 names', () => {
    expect(namesOf('index').size).toBeLessThanOrEqual(120)
  })

  test('calls one thing by one name, in all entries', () => {
    const names = new Map<ts.Symbol, Set<string>>()
    for (const entry of entries)
      for (const [name, symbol] of namesOf(entry))
        names.set(symbol, (names.get(symbol) ?? new Set()).add(name))
    expect([...names.values()].filter(({ size }) => size > 1)).toEqual([])
  })

  test('leads to every engine by its name', async () => {
    const { engines } = await import('../src/engines.ts')
    const named = Object.values(await import('../src/engines/all-engines.ts'))
    expect(named.length).toBeGreaterThan(15)
    expect(named.filter((engine) => !Object.values(engines).includes(engine))).toEqual([])
  })
})

describe('the pages and the examples', () => {
  const files = ['README.md', ...within('docs', '.md'), ...within('examples', '.ts')]

  test('import names that the entries have', () => {
    const imports = files.flatMap((file) =>
      [
        ...readFileSync(join(root, file), 'utf8').matchAll(
          /import (?:type )?\{([^}]*)\} from 'agent-sluice(?:\/([\w-]+))?'/g,
        ),
      ].map(([, names = '', entry = 'index']) => ({
        file,
        entry,
        names: names.match(/(?<!\bas )\b(?!type |as )\w+/g)!,
      })),
    )
    expect(imports.length).toBeGreaterThan(15)
    const wrong = imports.flatMap(({ file, entry, names }) =>
      names.filter((name) => !namesOf(entry).has(name)).map((name) => `${file}: ${name} of ${entry}`),
    )
    expect(wrong).toEqual([])
  })

  test('take the package by its name, and the command by the name that npx knows', () => {
    for (const file of [...files, 'SECURITY.md']) {
      const text = readFileSync(join(root, file), 'utf8')
      expect(text, file).not.toMatch(/from '[./]*\/src\//)
      expect(text, file).not.toMatch(/npx sluice|^(?: {4}|\$ )?sluice |\| sluice /m)
    }
  })
})

describe('the API reference', () => {
  const pages = apiPages(program)

  test('is what the sources say now (if not: npm run api)', () => {
    const names = [...pages.keys(), basename(SURFACE)]
    expect(readdirSync(join(root, 'docs/api')).sort()).toEqual(names.sort())
    for (const [name, text] of pages)
      expect(readFileSync(join(root, 'docs/api', name), 'utf8'), name).toBe(text)
  })

  test('describes every public name once, and its links lead to a heading', () => {
    const anchors = new Map([...pages].map(([name, text]) => [name, anchorsIn(text)]))
    const links = [...pages].flatMap(([page, text]) =>
      [...text.matchAll(/\]\(([\w-]+\.md)?(?:#([\w-]+))?\)/g)].map(([, name = page, anchor]) => [
        name,
        anchor,
      ]),
    )
    expect(links.length).toBeGreaterThan(500)
    const wrong = links.filter(
      ([name, anchor]) => !anchors.has(name!) || (anchor && !anchors.get(name!)!.has(anchor)),
    )
    expect(wrong).toEqual([])
    for (const entry of entries)
      for (const name of namesOf(entry).keys())
        expect(pages.get(`${entry}.md`)!, `${entry}: ${name}`).toMatch(
          new RegExp(`^### ${name}$|\\[\`${name}\`\\]\\([\\w-]+\\.md#`, 'm'),
        )
  })
})

describe('options', () => {
  test('are spelled in camelCase, whatever the records are', () => {
    const found = new Map<string, string[]>()
    for (const entry of entries) {
      for (const [name, symbol] of namesOf(entry)) {
        const types = name.endsWith('Options')
          ? [checker.getDeclaredTypeOfSymbol(symbol)]
          : symbol.flags & ts.SymbolFlags.Value
            ? optionTypes(symbol)
            : []
        if (types.length > 0)
          found.set(
            name,
            types.flatMap((type) => namesIn(type, new Set())),
          )
      }
    }
    expect(found.get('RunOptions')).toEqual(expect.arrayContaining(['runId', 'doneMarker', 'cols']))
    expect(found.get('work')).toContain('activeRunId')
    expect([...found.keys()].length).toBeGreaterThan(25)
    const wrong = [...found].map(([name, names]) => [name, names.filter((each) => each.includes('_'))])
    expect(wrong.filter(([, names]) => names!.length > 0)).toEqual([])
  })
})

/** The anchors of the headings of a page, as Markdown renderers make them. */
function anchorsIn(text: string): Set<string> {
  const found = new Set<string>()
  for (const [, title] of text.matchAll(/^#+ (.+)$/gm)) {
    const slug = title!.toLowerCase().replaceAll(' ', '-')
    let anchor = slug
    for (let n = 1; found.has(anchor); n++) anchor = `${slug}-${n}`
    found.add(anchor)
  }
  return found
}

function within(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
}

/** The types of the parameters that are called options. */
function optionTypes(symbol: ts.Symbol): ts.Type[] {
  const type = checker.getTypeOfSymbol(symbol)
  return type
    .getCallSignatures()
    .flatMap((signature) => signature.parameters)
    .filter((parameter) => parameter.name === 'options')
    .map((parameter) => checker.getNonNullableType(checker.getTypeOfSymbol(parameter)))
}

/**
 * The names of the properties of a type, and of those in them. Functions are not looked into: what they are
 * given are records.
 */
function namesIn(type: ts.Type, seen: Set<ts.Type>): string[] {
  const parts = type.isUnion() ? type.types : [type]
  return parts.flatMap((part) => {
    if (seen.has(part) || part.getCallSignatures().length > 0) return []
    seen.add(part)
    return part
      .getProperties()
      .filter(({ declarations }) =>
        declarations?.some((node) => node.getSourceFile().fileName.startsWith(join(root, 'src'))),
      )
      .flatMap((property) => [property.name, ...namesIn(checker.getTypeOfSymbol(property), seen)])
  })
}
