import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { OFF } from '../../src/base/check-options.ts'
import { milliseconds } from '../../src/base/duration.ts'

const src = new URL('../../src/', import.meta.url)

/** The text after `@default` of the option `name`, as it is documented in the file. */
function documented(file: ts.SourceFile, name: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isPropertySignature(node) && node.name.getText(file) === name)
      for (const tag of ts.getJSDocTags(node))
        if (tag.tagName.text === 'default') found.push(ts.getTextOfJSDocComment(tag.comment) ?? '')
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** The tables of options in a file: the name of each option, and its default, as it is written. */
function defaults(file: ts.SourceFile): [name: string, written: string][] {
  const found: [string, string][] = []
  const visit = (node: ts.Node): void => {
    if (ts.isSatisfiesExpression(node) && node.type.getText(file).startsWith('OptionTable<')) {
      const table = (node.expression as ts.AsExpression).expression as ts.ObjectLiteralExpression
      for (const row of table.properties) {
        // A table that is part of another is read where it is written.
        if (!ts.isPropertyAssignment(row)) continue
        const given = row.initializer
        const name = row.name.getText(file)
        if (given.getText(file) === 'OFF') found.push([name, String(OFF.default)])
        if (!ts.isObjectLiteralExpression(given)) continue
        const own = given.properties.find((property) => property.name?.getText(file) === 'default')
        if (own) found.push([name, (own as ts.PropertyAssignment).initializer.getText(file)])
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

const units: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 * 1024 }

/** Whether the words of a doc comment begin with the default that the table has. */
function agree(doc: string, written: string): boolean {
  const number = written === '1 << 20' ? 1 << 20 : Number(written.replaceAll('_', ''))
  if (Number.isFinite(number)) {
    const time = /^'(\d+(?:ms|s|m|h|d))'/.exec(doc)?.[1]
    if (time !== undefined) return milliseconds(time) === number
    const [, digits = '', unit = ''] = /^([\d.,]+)(?: ([KM]iB))?/.exec(doc) ?? []
    return (
      digits !== '' &&
      Number(digits.replace(/,(?=\d{3})/g, '').replace(/[.,]$/, '')) * (units[unit] ?? 1) === number
    )
  }
  if (written === '[]') return doc === 'none' || doc === '[]'
  if (written === 'Number.POSITIVE_INFINITY') return doc.startsWith('unlimited')
  // A function, or something that has a name: `() => Date.now()` is `Date.now`.
  const named = /^\(\) => ([\w.]+)\(\)$/.exec(written)?.[1] ?? written
  return doc.startsWith(named) || doc.includes(`\`${named}\``)
}

/** Tables inside the package: their options are not documented for users, or in words. */
const inside = new Set([
  ...['hash', 'inside', 'pick of ask/options.ts', 'args', 'fsDiff', 'ignore'],
  // Documented with the options of `ask` and `run`.
  'maxCacheWait of disk/cache.ts',
])

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))

test('the default of every option is the one that its doc comment names', () => {
  const wrong: string[] = []
  let count = 0
  for (const path of files) {
    const text = readFileSync(new URL(path, src), 'utf8')
    if (!text.includes('satisfies OptionTable<')) continue
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
    for (const [name, written] of defaults(file)) {
      if (inside.has(name) || inside.has(`${name} of ${path}`)) continue
      count++
      const docs = documented(file, name)
      if (!docs.some((doc) => agree(doc, written)))
        wrong.push(`${path} ${name}: ${written}, but documented as ${docs.join(' or ') || 'nothing'}`)
    }
  }
  expect(wrong).toEqual([])
  expect(count).toBeGreaterThan(60)
})
