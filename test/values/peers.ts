import { jsonrepair } from 'jsonrepair'
import { parse as partialJson } from 'partial-json'
import type { Parser } from './corrupt.ts'

export interface Peer {
  readonly name: string
  readonly parse: Parser
}

/** The parsers that others use for broken JSON. */
export async function peers(): Promise<Peer[]> {
  const { parse: bestEffort, disableErrorLogging } = await import('best-effort-json-parser')
  disableErrorLogging()
  return [
    { name: 'jsonrepair', parse: (text) => JSON.parse(jsonrepair(text)) },
    { name: 'partial-json', parse: (text) => partialJson(text) },
    { name: 'best-effort-json-parser', parse: (text) => bestEffort(text) },
  ]
}
