import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** From the ground up. A floor may import from itself and from those before it in this list. */
const floors = [
  'base',
  'json',
  'frames',
  'values',
  'events',
  'engines',
  'chat',
  'views',
  'streams',
  'sinks',
  'ask',
  'run',
  'work',
  'serve',
  'nats',
  'cli',
]

const src = fileURLToPath(new URL('../src', import.meta.url))

describe('imports point down', () => {
  const files = sourceFiles()

  test('there are files to look at, and every folder is a known floor', () => {
    expect(files.length).toBeGreaterThan(3)
    const folders = files.map((file) => file.split(sep)).filter((parts) => parts.length > 1)
    expect(new Set(folders.map(([folder]) => folder))).toEqual(
      new Set(floors.filter((floor) => folders.some(([folder]) => folder === floor))),
    )
  })

  test.each(files)('%s', (file) => {
    expect(upwardImports(file, readFileSync(join(src, file), 'utf8'))).toEqual([])
  })
})

describe('the core runs without Node', () => {
  const core = new Set(floors.slice(0, floors.indexOf('streams')))
  const files = sourceFiles().filter((file) => core.has(file.split(sep)[0]!))

  test('only the platform imports from Node', () => {
    const users = files.filter((file) =>
      importsOf(readFileSync(join(src, file), 'utf8')).some((target) => target.startsWith('node:')),
    )
    expect(users).toEqual([join('base', 'platform.ts')])
  })

  test('no file but the platform uses the globals of Node', () => {
    const global = /\b(?:Buffer|process|setImmediate|require)\s*[.(]/
    const users = files.filter((file) => global.test(withoutComments(readFileSync(join(src, file), 'utf8'))))
    expect(users).toEqual([])
  })
})

describe('no two files import each other', () => {
  const imports = new Map(
    sourceFiles().map((file) => [file, targetsOf(file, readFileSync(join(src, file), 'utf8'))]),
  )

  test('no two files import each other, nor more of them in a circle', () => {
    expect(circlesIn(imports)).toEqual([])
  })

  test('a circle of two, of three and of type imports is found, a diamond is none', () => {
    const code = (targets: readonly string[]) => targets.map((target) => `import type {} from '${target}'`)
    const files = {
      a: ['./b'],
      b: ['./a'],
      c: ['./d', './e'],
      d: ['./f'],
      e: ['./f'],
      f: ['./c'],
      g: ['./h'],
    }
    const graph = Object.entries(files).map(
      ([file, targets]) => [file, targetsOf(file, code(targets).join('\n'))] as const,
    )
    expect(circlesIn(new Map(graph))).toEqual(['a b', 'c d e f'])
    expect(circlesIn(new Map([...graph.slice(0, 1), ...graph.slice(2, 5)]))).toEqual([])
  })
})

describe('the check itself', () => {
  test.each([
    ['a named import', "import { parse } from '../values/parse.ts'"],
    ['a type import', "import type { Event } from '../events/event.ts'"],
    ['an import over several lines', "import {\n  a,\n  b,\n} from '../cli/main.ts'"],
    ['a bare import', "import '../chat/chat.ts'"],
    ['an export', "export * from '../engines/all-engines.ts'"],
    ['an import at run time', "const later = await import('../work/work.ts')"],
    ['an import type in a type', "type T = import('../serve/serve.ts').T"],
    ['the door', "import { frames } from '../index.ts'"],
    ['a way around', "import { x } from './../../src/values/parse.ts'"],
    ['an unknown floor', "import { x } from '../cellar/x.ts'"],
  ])('catches %s that points up', (_, code) => {
    expect(upwardImports('frames/bad.ts', `// first line\n${code}\n`)).toHaveLength(1)
  })

  test('lets imports pass that point down, sideways or out of the house', () => {
    const code = [
      "import { Fault } from '../base/fault.ts'",
      "import { frames } from './frames.ts'",
      "import { Transform } from 'node:stream'",
      "import Ajv from 'ajv'",
      " * import { codex } from '../engines/codex.ts'",
      "// import '../cli/main.ts'",
    ].join('\n')
    expect(upwardImports('frames/good.ts', code)).toEqual([])
  })
})

function sourceFiles(): string[] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
}

/** The files in src/ that a file imports, types too. */
function targetsOf(file: string, code: string): string[] {
  return importsOf(code)
    .filter((target) => target.startsWith('.'))
    .map((target) => relative(src, resolve(src, dirname(file), target)))
}

/** The groups of files each of which reaches all others of its group by imports. */
function circlesIn(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const reached = new Map([...imports.keys()].map((file) => [file, reachedFrom(file, imports)]))
  const circles = [...reached].flatMap(([file, far]) => {
    if (!far.has(file)) return []
    return [...far]
      .filter((other) => reached.get(other)?.has(file))
      .sort()
      .join(' ')
  })
  return [...new Set(circles)].sort()
}

function reachedFrom(start: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>()
  const open = [start]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    for (const target of imports.get(file) ?? []) {
      if (reached.has(target)) continue
      reached.add(target)
      open.push(target)
    }
  }
  return reached
}

/** The imports of a file in src/ that reach a floor above its own. */
function upwardImports(file: string, code: string): string[] {
  return importsOf(code)
    .filter((target) => target.startsWith('.'))
    .filter((target) => {
      const reached = relative(src, resolve(src, dirname(file), target))
      return floorOf(reached) > floorOf(file)
    })
}

/** Files directly in src are above every layer; so is an unknown folder. */
function floorOf(file: string): number {
  const [folder, ...rest] = file.split(sep)
  const index = rest.length > 0 ? floors.indexOf(folder!) : -1
  return index < 0 ? floors.length : index
}

function importsOf(code: string): string[] {
  const statement = /\b(?:import|export)\b(?:[^'"`;]*?\bfrom\b)?\s*\(?\s*(['"])([^'"]+)\1/g
  return [...withoutComments(code).matchAll(statement)].map((match) => match[2]!)
}

/** Examples in comments import what they like. Comments here start a line. */
function withoutComments(code: string): string {
  return code
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line))
    .join('\n')
}
