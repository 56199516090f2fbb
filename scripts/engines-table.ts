// Writes the cases of the engines into docs/engines.md, counted from the fixtures. The test of the page fails
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

/** The page with what the current fixtures hold. */
export function withEngineTable(text: string): string {
  const [before, rest] = text.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the engines`)
  return `${before}${start}\n${countedCases()}\n${end}${after}`
}

function countedCases(): string {
  const all = Object.keys(engines)
    .sort()
    .map((engine) => [engine, casesOf(engine)] as const)
  const drifted = all.flatMap(([engine, cases]) => {
    const drift = driftOf(cases)
    return drift.length === 0 ? [] : [`\`${engine}\` ${drift.join(', ')}`]
  })
  return [
    `Cases: ${all.map(([engine, cases]) => `\`${engine}\` ${countOf(cases)}`).join(', ')}.`,
    '',
    `Known drift: ${drifted.join('; ')}.`,
  ].join('\n')
}

function casesOf(engine: string): Case[] {
  const folder = join('fixtures', engine)
  return readdirSync(folder).map((name) => readCase(join(folder, name)))
}

function countOf(cases: readonly Case[]): string {
  const byHand = cases.filter(({ program }) => program === undefined).length
  if (byHand === cases.length) return `${byHand} by hand`
  return byHand === 0 ? `${cases.length}` : `${cases.length} (${byHand} by hand)`
}

/** Every version of a program that a real run in the fixtures was recorded with. */
export function versionsInFixtures(): string[] {
  const cases = Object.keys(engines).flatMap(casesOf)
  return unique(cases.flatMap(({ program, version }) => (program && version ? [version] : [])))
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

/** The types and fields in the cases that the engine does not know. */
function driftOf(cases: readonly Case[]): string[] {
  const names = cases
    .flatMap(({ events }) => events)
    .filter((event) => isEvent(event, 'diagnostic.parser.warning'))
    .flatMap(({ data: { drift } }) => [
      ...Object.keys(drift?.types ?? {}).map((name) => `type \`${name}\``),
      ...Object.keys(drift?.fields ?? {}).map((name) => `field \`${name}\``),
    ])
  return unique(names)
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)]
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(page, withEngineTable(readFileSync(page, 'utf8')))
}
