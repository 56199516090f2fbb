// Writes the table of codes into README.md. The test of the README fails when they differ.
import { readFileSync, writeFileSync } from 'node:fs'
import { codes } from '../src/index.ts'

const rows = Object.entries(codes).map(([code, text]) => `| \`${code}\` | ${text} |`)
const table = ['| Code | Means |', '| --- | --- |', ...rows].join('\n')
const readme = readFileSync('README.md', 'utf8')
const [before, rest] = readme.split('<!-- codes -->')
const after = rest?.split('<!-- /codes -->')[1]
if (before === undefined || after === undefined) throw new Error('README.md has no place for the codes')
writeFileSync('README.md', `${before}<!-- codes -->\n${table}\n<!-- /codes -->${after}`)
