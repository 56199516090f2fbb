// Sends every recorded run to the real clients of the views, and writes what they kept into docs/views.md.
// Its test fails when the page differs.
import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { type Recorded, recordedRuns } from '../test/views/fixtures.ts'
import { type Kept, keptByAgUi, keptByAiSdk, keptByOtel, keptByStreamText } from '../test/views/kept.ts'

const page = 'docs/views.md'
const [start, end] = ['<!-- kept -->', '<!-- /kept -->']
const views = {
  'AG-UI': keptByAgUi,
  'AI SDK, chat': keptByAiSdk,
  'AI SDK, model': keptByStreamText,
  OpenTelemetry: keptByOtel,
} as const
const words: Record<Kept, string> = { shown: 'shown', 'handed on': 'handed on', lost: '**left out**' }

/** The page with the table from the current clients. */
export async function withKeptTable(text: string): Promise<string> {
  const [before, rest] = text.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the table`)
  return `${before}${start}\n${await keptTable(recordedRuns())}\n${end}${after}`
}

async function keptTable(runs: readonly Recorded[]): Promise<string> {
  /** By type of record, then by view: how many were kept, and how. */
  const counts = new Map<string, Map<string, Map<Kept, number>>>()
  for (const { events } of runs) {
    for (const [view, keptBy] of Object.entries(views)) {
      const kept = await keptBy(events)
      for (const [index, { type }] of events.entries()) {
        const byView = counts.get(type) ?? new Map()
        const byKept = byView.get(view) ?? new Map()
        counts.set(type, byView.set(view, byKept.set(kept[index]!, (byKept.get(kept[index]!) ?? 0) + 1)))
      }
    }
  }
  const total = runs.reduce((sum, { events }) => sum + events.length, 0)
  const names = Object.keys(views)
  /** Types that are kept in one way share a row. */
  const rows = new Map<string, string[]>()
  for (const type of [...counts.keys()].sort()) {
    const cells = names.map((view) => cellOf(counts.get(type)?.get(view) ?? new Map())).join(' | ')
    rows.set(cells, [...(rows.get(cells) ?? []), `\`${type}\``])
  }
  return [
    `${runs.length} recorded runs with ${total.toLocaleString('en')} records: every one was accepted by all four clients.`,
    '',
    `| Record | ${names.join(' | ')} |`,
    `| --- | ${names.map(() => '---').join(' | ')} |`,
    ...[...rows].map(([cells, types]) => `| ${types.join(', ')} | ${cells} |`),
  ].join('\n')
}

function cellOf(byKept: ReadonlyMap<Kept, number>): string {
  return [...byKept]
    .map(([kept, count]) => (byKept.size === 1 ? words[kept] : `${words[kept]} ${count}`))
    .sort()
    .join(', ')
}

if (argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(page, await withKeptTable(readFileSync(page, 'utf8')))
