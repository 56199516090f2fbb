// Makes the table of fault cases in docs/reliability.md from a test report, so that no result is written by hand:
//   npx vitest run test/faults --reporter=json --outputFile=report.json
//   npx tsx scripts/reliability.ts report.json
import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly assertionResults: readonly {
      readonly title: string
      readonly ancestorTitles: readonly string[]
      readonly status: string
    }[]
  }[]
}

const page = new URL('../docs/reliability.md', import.meta.url)
const [path] = process.argv.slice(2)
if (!path) throw new Error('give the JSON report of vitest: npx tsx scripts/reliability.ts report.json')
const report = JSON.parse(readFileSync(path, 'utf8')) as Report

const results = new Map<string, { files: Set<string>; passed: number; failed: number; skipped: string[] }>()
for (const { name, assertionResults } of report.testResults) {
  for (const { title, ancestorTitles, status } of assertionResults) {
    // A test has its id in its own name, or in that of its group.
    const id = [title, ...ancestorTitles].map((name) => /^([A-I]\d{1,2})\b/.exec(name)?.[1]).find(Boolean)
    if (!id) continue
    const found = results.get(id) ?? { files: new Set(), passed: 0, failed: 0, skipped: [] }
    results.set(id, found)
    found.files.add(relative(process.cwd(), name))
    if (status === 'passed') found.passed++
    else if (status === 'failed') found.failed++
    else found.skipped.push(title)
  }
}

function resultOf(id: string): string {
  const found = results.get(id)
  if (!found) return 'not in this report'
  const parts = [
    found.failed > 0 ? `**${found.failed} failed**` : '',
    found.passed > 0 ? `${found.passed} passed` : '',
    found.skipped.length > 0 ? `${found.skipped.length} skipped` : '',
  ]
  return parts.filter(Boolean).join(', ')
}

// The rows are | id | case | expected | test | result |: the script writes the last two, people write the rest.
const text = readFileSync(page, 'utf8')
  .split('\n')
  .map((line) => {
    const id = /^\| ([A-I]\d{1,2}) \|/.exec(line)?.[1]
    if (!id) return line
    const [, , what, expected, file = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    const files = [...(results.get(id)?.files ?? [])].map((name) => `\`${name.split('/').pop()}\``)
    return `| ${id} | ${what} | ${expected} | ${files.join(', ') || file} | ${resultOf(id)} |`
  })
  .join('\n')
writeFileSync(page, text)
