// Writes the table of codes into docs/codes.md. A test fails when they differ.
import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { codes, nextSteps } from '../src/base/fault.ts'

const page = 'docs/codes.md'
const [start, end] = ['<!-- codes -->', '<!-- /codes -->']

/** The page with the table from the current sources. */
export function withCodes(text: string): string {
  const [before, rest] = text.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the codes`)
  const all = Object.entries(codes)
  const faults = all.filter(([code]) => nextSteps[code])
  const notes = all.filter(([code]) => !nextSteps[code])
  const table = [
    '| Fault | Means | What to do |',
    '| --- | --- | --- |',
    ...faults.map(([code, meaning]) => `| \`${code}\` | ${meaning} | ${nextSteps[code]} |`),
    '',
    '## Notes',
    '',
    ...notes.map(([code, meaning]) => `- \`${code}\`: ${meaning}`),
  ].join('\n')
  return `${before}${start}\n${table}\n${end}${after}`
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(page, withCodes(readFileSync(page, 'utf8')))
}
