import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** From the ground up. A floor may import from itself and from those before it in this list. */
const floors = [
  ...['base', 'text', 'json', 'repair', 'frames', 'values', 'events', 'engines', 'views'],
  ...['process', 'streams', 'disk', 'ask', 'run', 'work', 'nats', 'serve', 'cli'],
]
/** The floors that run without Node. */
const core = new Set(floors.slice(0, floors.indexOf('process')))

const src = fileURLToPath(new URL('../src', import.meta.url))

test('imports point down, go in no circle; the core has no Node, and one floor starts and signals processes', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  expect(files.length).toBeGreaterThan(floors.length)
  expect(breaches(new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')])))).toEqual([])
})

test('finds each kind of breach', () => {
  const bad: [what: string, code: string, file?: string][] = [
    ['a named import', "import { parse } from '../values/parse.ts'"],
    ['a type import', "import type { Event } from '../events/event.ts'"],
    ['an import over several lines', "import {\n  a,\n  b,\n} from '../cli/main.ts'"],
    ['a bare import', "import '../views/chat.ts'"],
    ['an export', "export * from '../engines/all-engines.ts'"],
    ['an import at run time', "const later = await import('../work/work.ts')"],
    ['an import type in a type', "type T = import('../serve/serve.ts').T"],
    ['the door', "import { frames } from '../index.ts'"],
    ['a way around', "import { x } from './../../src/values/parse.ts'"],
    ['an unknown floor', "import { x } from '../cellar/x.ts'"],
    ['a file of an unknown floor', '', 'cellar/x.ts'],
    ['a module of Node', "import { join } from 'node:path'"],
    ['a global of Node', "const bytes = Buffer.from('')"],
    ['a file that imports itself', "import { bad } from './bad.ts'"],
    ['a child process', "import { spawn } from 'node:child_process'", 'run/bad.ts'],
    ['a signal', 'process.kill(pid, 0)', 'disk/bad.ts'],
  ]
  for (const [what, code, file = 'frames/bad.ts'] of bad)
    expect(breaches(new Map([[file, `// first line\n${code}\n`]])), what).toHaveLength(1)
})

test('finds a circle of two, of three and of type imports, and takes a diamond for none', () => {
  const ways = { a: 'b', b: 'a', c: 'de', d: 'f', e: 'f', f: 'c', g: 'h' }
  const files = Object.entries(ways).map(
    ([file, targets]) =>
      [
        join('base', file),
        [...targets].map((target) => `import type {} from './${target}'`).join('\n'),
      ] as const,
  )
  expect(breaches(new Map(files))).toEqual([
    'a circle: base/a base/b',
    'a circle: base/c base/d base/e base/f',
  ])
  expect(breaches(new Map([...files.slice(0, 1), ...files.slice(2, 5)]))).toEqual([])
})

test('lets imports pass that point down, sideways or out of the house', () => {
  const code = [
    "import { Fault } from '../base/fault.ts'",
    "import { frames } from './frames.ts'",
    "import Ajv from 'ajv'",
    " * import { codex } from '../engines/codex.ts'",
    "// import '../cli/main.ts'",
  ].join('\n')
  const above = "import { Transform } from 'node:stream'\nprocess.kill(process.pid, 'SIGINT')"
  expect(breaches(new Map(Object.entries({ 'frames/good.ts': code, 'run/good.ts': above })))).toEqual([])
})

/** What breaks the rules, one line each, in sources by their path in src/. */
function breaches(sources: ReadonlyMap<string, string>): string[] {
  const found: string[] = []
  const graph = new Map<string, string[]>()
  for (const [file, source] of sources) {
    const code = withoutComments(source)
    const imports = importsOf(code)
    const targets = imports
      .filter((target) => target.startsWith('.'))
      .map((target) => relative(src, resolve(src, dirname(file), target)))
    graph.set(file, targets)
    const [floor, ...rest] = file.split(sep)
    if (rest.length > 0 && !floors.includes(floor!)) found.push(`${file} is on no known floor`)
    for (const target of targets)
      if (floorOf(target) > floorOf(file)) found.push(`${file} imports ${target}, which is above it`)
    // Git is asked there, which answers and ends.
    const starts = imports.includes('node:child_process') && file !== join('run', 'tree-diff.ts')
    if (starts && floor !== 'process') found.push(`${file} starts processes`)
    if (/process\.kill\((?!process\.pid|\))/.test(code) && floor !== 'process')
      found.push(`${file} signals processes`)
    if (!core.has(floor!)) continue
    const ofNode = imports.find((target) => target.startsWith('node:'))
    if (ofNode !== undefined && file !== join('base', 'platform.ts')) found.push(`${file} imports ${ofNode}`)
    const [global] = /\b(?:Buffer|process|setImmediate|require)\s*[.(]/.exec(code) ?? []
    if (global !== undefined) found.push(`${file} uses ${global}`)
  }
  return [...found, ...circlesIn(graph).map((circle) => `a circle: ${circle}`)]
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

/** Files directly in src are above every layer; so is an unknown folder. */
function floorOf(file: string): number {
  const [folder, ...rest] = file.split(sep)
  const index = rest.length > 0 ? floors.indexOf(folder!) : -1
  return index < 0 ? floors.length : index
}

function importsOf(code: string): string[] {
  const statement = /\b(?:import|export)\b(?:[^'"`;]*?\bfrom\b)?\s*\(?\s*(['"])([^'"]+)\1/g
  return [...code.matchAll(statement)].map((match) => match[2]!)
}

/** Examples in comments import what they like. Comments here start a line. */
function withoutComments(code: string): string {
  return code
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line))
    .join('\n')
}
