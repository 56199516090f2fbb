import { readFileSync, writeFileSync } from 'node:fs'
import type { Options } from 'tsup'
import ts from 'typescript'

/**
 * Makes the source maps small. They carry their sources, because the package has no src, but no comments and
 * no imports, and they map lines, not columns: that is what a stack trace and a breakpoint need, in a third
 * of the bytes.
 */
export const lineMaps: NonNullable<Options['plugins']>[number] = {
  name: 'line-maps',
  buildEnd({ writtenFiles }) {
    for (const { name } of writtenFiles) {
      if (!name.endsWith('.map')) continue
      const map = JSON.parse(readFileSync(name, 'utf8'))
      map.mappings = lineMappings(map.mappings)
      map.names = []
      map.sourcesContent = map.sources.map((path: string, i: number) =>
        // The built page is text of its own, which nobody steps through.
        path.endsWith('/page-text.ts') ? null : bodyOf(map.sourcesContent[i]),
      )
      writeFileSync(name, JSON.stringify(map))
    }
  },
}

/** Keeps the segments at which a line begins: one of the built file, or another one of the sources. */
function lineMappings(mappings: string): string {
  // Each number in a segment is the difference to the one before it: of all segments, and of those kept.
  const at = [0, 0, 0, 0]
  const kept = [0, 0, 0, 0]
  const lines = mappings.split(';').map((line) => {
    let last = ''
    at[0] = kept[0] = 0
    const segments: string[] = []
    for (const segment of line === '' ? [] : line.split(',')) {
      const numbers = decoded(segment)
      for (let i = 0; i < 4; i++) at[i]! += numbers[i] ?? 0
      const place = `${at[1]}:${at[2]}`
      if (numbers.length < 4 || place === last) continue
      last = place
      segments.push(at.map((number, i) => encoded(number - kept[i]!)).join(''))
      for (let i = 0; i < 4; i++) kept[i] = at[i]!
    }
    return segments.join(',')
  })
  return lines.join(';')
}

/** The digits of source maps: base 64, five bits each, the lowest first; the lowest bit is the sign. */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

function decoded(segment: string): number[] {
  const numbers: number[] = []
  let number = 0
  let shift = 0
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit)
    number |= (bits & 31) << shift
    shift += 5
    if (bits & 32) continue
    numbers.push(number & 1 ? -(number >> 1) : number >> 1)
    number = shift = 0
  }
  return numbers
}

function encoded(number: number): string {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1
  let digits = ''
  do {
    const bits = rest & 31
    rest >>>= 5
    digits += DIGITS[rest > 0 ? bits | 32 : bits]
  } while (rest > 0)
  return digits
}

/** Lines keep their numbers. */
function bodyOf(source: string): string {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest)
  const parts: string[] = []
  const visit = (node: ts.Node) => {
    if (ts.isImportDeclaration(node)) {
      parts.push(source.slice(node.getFullStart(), node.end).replaceAll(/[^\n]/g, ''))
      return
    }
    const children = node.getChildren(file).filter((child) => !ts.isJSDoc(child))
    for (const child of children) visit(child)
    if (children.length > 0) return
    const start = node.getStart(file)
    const between = source.slice(node.getFullStart(), start)
    parts.push(between.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, '')))
    parts.push(source.slice(start, node.end))
  }
  visit(file)
  return parts.join('').replaceAll(/[ \t]+$/gm, '')
}
