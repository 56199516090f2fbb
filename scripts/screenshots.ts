// Makes the pictures in docs/images: npx tsx scripts/screenshots.ts (needs a Chromium; set CHROMIUM if it is elsewhere).
// The live run is a toy agent that speaks Codex's records; the others are fixtures, recorded from the real CLIs.
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codex } from '../src/engines/codex.ts'
import { run } from '../src/run/run.ts'
import { serve } from '../src/serve/server.ts'
import { launch } from '../test/serve/browser.ts'

const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url))
const images = fileURLToPath(new URL('../docs/images', import.meta.url))
mkdirSync(images, { recursive: true })

const root = join(mkdtempSync(join(tmpdir(), 'sluice-pictures-')), 'runs')
for (const [name, from] of [
  ['release-notes', 'codex/07a-file-write.tee80'],
  ['flaky-test', 'codex/03b-tool-fail.pipe'],
  ['outage', 'codex/08a-http-429.pipe'],
  ['skill', 'codex/06a-skill-done.pipe'],
  ['interrupted', 'codex/11a-sigint.pipe'],
  ['review', 'claude/stream-json.tools'],
  ['explain', 'opencode/07a-file-write.tee80'],
] as const) {
  cpSync(join(fixtures, from), join(root, name), { recursive: true })
}

const cwd = join(root, 'fix-the-clock')
mkdirSync(cwd, { recursive: true })
writeFileSync(
  join(cwd, 'agent.mjs'),
  `const say = (record) => process.stdout.write(JSON.stringify(record) + '\\n')
  const item = (phase, id, more) => say({ type: 'item.' + phase, item: { id: 'item_' + id, ...more } })
  const call = { type: 'command_execution', command: '/bin/bash -lc "npm test -- clock"' }
  say({ type: 'thread.started', thread_id: '0199a213-81c0-7800-8aa1-bbab2a035a53' })
  say({ type: 'turn.started' })
  item('completed', 0, { type: 'reasoning', text: '**Looking at the failing test**\\n\\nThe clock test fails only in winter. That smells of daylight saving time.' })
  item('completed', 1, { type: 'agent_message', text: 'The clock test fails only after the end of October, so I suspect daylight saving time. I will run it first.' })
  item('started', 2, { ...call, aggregated_output: '', exit_code: null, status: 'in_progress' })
  item('completed', 2, { ...call, aggregated_output: 'clock\\n  ✕ adds a day across a change of the clocks\\n    expected 03:00, got 02:00\\n', exit_code: 1, status: 'failed' })
  process.stderr.write('2026-11-15T02:00:00Z  WARN retrying the connection\\n')
  item('completed', 3, { type: 'agent_message', text: 'A day was added as 24 hours. Adding it to the calendar date is right:\\n\\n\`\`\`js\\nconst next = new Date(date)\\nnext.setDate(next.getDate() + 1)\\n\`\`\`\\n\\nThe hour in \`next\` then follows the wall clock.' })
  item('completed', 4, { type: 'file_change', changes: [{ path: 'src/clock.js', kind: 'update' }], status: 'completed' })
  item('started', 5, { ...call, aggregated_output: '', exit_code: null, status: 'in_progress' })
  setTimeout(() => {}, 60_000)`,
)
const live = run({
  command: process.execPath,
  args: ['agent.mjs'],
  engine: codex,
  cwd,
  audit: join(cwd, '.audit'),
  fsDiff: false,
})
await once(live, 'data')
live.resume()

const server = await serve({ dir: root, port: 0 })
const browser = await launch()
async function shot(
  name: string,
  scheme: 'light' | 'dark',
  id: string,
  choose: string,
  open = '',
  width = 1280,
  height = 800,
) {
  const page = await browser.newPage({
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: 'reduce',
  })
  await page.goto(`${server.url}#${encodeURIComponent(id)}`)
  await page.waitForSelector(choose)
  await page.waitForTimeout(600)
  if (open) await page.locator(open).first().click()
  else
    await page
      .locator(choose)
      .first()
      .click({ position: { x: 200, y: 14 } })
  await page.waitForTimeout(400)
  await page.screenshot({ path: join(images, `${name}.png`) })
  await page.close()
}
await shot('serve-live', 'light', 'fix-the-clock/.audit', 'article[data-kind=message] >> nth=1')
await shot(
  'serve-dark',
  'dark',
  'fix-the-clock/.audit',
  'article[data-outcome=failed]',
  'article[data-outcome=failed] summary',
)
await shot('audit-link', 'light', 'release-notes', 'article[data-kind=artifact]', '', 1280, 640)
await shot('serve-narrow', 'light', 'flaky-test', 'article[data-kind=message]', '', 900, 760)
await browser.close()
live.kill('SIGTERM')
await live.end.catch(() => {})
await server.close()
