// Packs the records of recorded runs into fixtures/lines, from which the benches grow their real logs.
//   npx tsx bench/pack-lines.ts FOLDER
// FOLDER holds <engine>[-<version>]/<scenario>/<mode>/stdout.log. Only pipes are read: a terminal shows the
// same records again. Lines that are not records are left out, because ndjson and split2 throw at them.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { packedStatistics } from './line-statistics.ts'
import { LINES } from './real-lines.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Usage: npx tsx bench/pack-lines.ts FOLDER')

const ENGINES = ['cline', 'codex', 'copilot', 'gemini', 'grok', 'kilo', 'opencode', 'pi', 'qwen']

for (const engine of ENGINES) {
  const logs = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => isPipeOf(engine, path))
    .sort()
  const runs = logs.map((path) => readFileSync(join(folder, path), 'utf8').split('\n').filter(isRecord))
  const texts = runs.filter((lines) => lines.length > 0).map((lines) => `${lines.join('\n')}\n`)
  writeFileSync(join(LINES, `${engine}.jsonl.gz`), gzipSync(texts.join('\n'), { level: 9 }))
}
writeFileSync(join(LINES, 'statistics.json'), `${JSON.stringify(packedStatistics(), null, 2)}\n`)

function isPipeOf(engine: string, path: string): boolean {
  const [directory = '', , mode = '', file] = path.split('/')
  const version = directory.slice(engine.length)
  return (
    directory.startsWith(engine) &&
    /^(-[\d.]+(-features)?)?$/.test(version) &&
    /^(stream-json-|partial-)?pipe/.test(mode) &&
    file === 'stdout.log'
  )
}

function isRecord(line: string): boolean {
  if (!line.startsWith('{')) return false
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}
