// Writes the table of engines into docs/engines.md, counted from the fixtures. The test of the page fails
// when they differ.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { engines } from '../src/engines/engines-by-name.ts'
import type { AgentEvent } from '../src/events/event.ts'
import { isEvent } from '../src/events/event.ts'

const page = 'docs/engines.md'
const [start, end] = ['<!-- engines -->', '<!-- /engines -->']

/** The page with the table from the current fixtures. */
export function withEngineTable(text: string): string {
  const [before, rest] = text.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the engines`)
  return `${before}${start}\n${engineTable()}\n${end}${after}`
}

function engineTable(): string {
  const rows = Object.keys(engines).sort().map(rowOf)
  return ['| Engine | Versions recorded | Cases | Known drift |', '| --- | --- | --- | --- |', ...rows].join(
    '\n',
  )
}

function rowOf(engine: string): string {
  const folder = join('fixtures', engine)
  const cases = readdirSync(folder).map((name) => readCase(join(folder, name)))
  const cells = [`\`${engine}\``, versions(cases), cases.length, driftOf(cases)]
  return `| ${cells.join(' | ')} |`
}

interface Case {
  /** The program and its version, if a real run wrote the case. */
  readonly program: string | undefined
  readonly version: string | undefined
  readonly events: readonly AgentEvent[]
}

function readCase(path: string): Case {
  const origin = readFileSync(join(path, 'ORIGIN.md'), 'utf8')
  const recorded = /a real (?:run|session)/i.test(origin)
  // Codex CLI 0.166.0, scenario …  |  Gemini CLI 0.61.0 (`gemini --acp`), …
  const [, program, version] = /^([^,(]+) ([\d.]+)(?:[,:]| \()/.exec(origin) ?? []
  return {
    program: recorded ? program : undefined,
    version: recorded ? version : undefined,
    events: readFileSync(join(path, 'events.jsonl'), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  }
}

/** Newest first; with the program, if several use the same protocol. */
function versions(cases: readonly Case[]): string {
  const programs = unique(cases.flatMap(({ program }) => program ?? []))
  const lists = programs.map((program) => {
    const of = cases.filter((one) => one.program === program)
    const list = unique(of.flatMap(({ version }) => version ?? [])).sort((a, b) =>
      b.localeCompare(a, 'en', { numeric: true }),
    )
    return programs.length === 1 ? list.join(', ') : `${program} ${list.join(', ')}`
  })
  const byHand = cases.filter(({ program }) => program === undefined).length
  const note = byHand === 0 ? [] : [`${byHand} of ${cases.length} cases by hand`]
  return [...lists.sort(), ...note].join('; ')
}

/** The types and fields in the cases that the engine does not know. */
function driftOf(cases: readonly Case[]): string {
  const names = cases
    .flatMap(({ events }) => events)
    .filter((event) => isEvent(event, 'diagnostic.parser.warning'))
    .flatMap(({ data: { drift } }) => [
      ...Object.keys(drift?.types ?? {}).map((name) => `type \`${name}\``),
      ...Object.keys(drift?.fields ?? {}).map((name) => `field \`${name}\``),
    ])
  return names.length === 0 ? 'none' : unique(names).join(', ')
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)]
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(page, withEngineTable(readFileSync(page, 'utf8')))
}
