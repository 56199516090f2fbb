// Makes the pictures in docs/images: npx tsx scripts/screenshots.ts [DIR] (needs a Chromium; set CHROMIUM to
// its path). Pictures that are not in the docs go to DIR, or to a temporary folder. The live run is a toy
// agent that writes Codex's records; the others are fixtures, recorded from the real CLIs.
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { codex } from '../src/engines/codex/codex.ts'
import { run } from '../src/run/run.ts'
import { serve } from '../src/serve/serve.ts'
import { launch } from '../test/serve/browser.ts'
import { putLargeRun } from '../test/serve/large-run.ts'
import { smallPng } from './small-png.ts'

const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url))
const images = fileURLToPath(new URL('../docs/images', import.meta.url))
mkdirSync(images, { recursive: true })
const out = argv[2] ?? mkdtempSync(join(tmpdir(), 'sluice-pictures-'))
mkdirSync(out, { recursive: true })
/** Pictures in the docs. */
const kept = new Set(['serve-long'])

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
  setTimeout(() => {}, 600_000)`,
)
const agent = run({
  command: process.execPath,
  args: ['agent.mjs'],
  engine: codex,
  cwd,
  audit: join(cwd, '.audit'),
  fsDiff: false,
})
await once(agent, 'data')
agent.resume()

putLargeRun(root, 'long', 10_000)
const server = await serve({ dir: root, port: 0 })
const browser = await launch()

interface Shot {
  readonly scheme?: 'light' | 'dark'
  /** The run, and perhaps the event. */
  readonly hash?: string
  /** A selector to wait for before the keys are pressed. @default the end of the run */
  readonly wait?: string
  /** Keys, one after the other; a text that begins with `=` is typed. */
  readonly keys?: readonly string[]
  readonly width?: number
  readonly height?: number
}

const desktop = { width: 1280, height: 800 }
const phone = { width: 390, height: 780 }
const over = '#conversation[data-over=true]'
const live = { hash: '#run/fix-the-clock%2F.audit', wait: 'article[data-outcome=failed]' }
const shots: Readonly<Record<string, Shot>> = {
  'serve-live': { ...live },
  'serve-dark': { ...live, scheme: 'dark', keys: ['p', 'Enter'] },
  'serve-failed': { hash: '#run/flaky-test', keys: ['p', 'Enter'] },
  'serve-long': { hash: '#run/long', keys: ['p', 'Enter'] },
  'serve-find': { hash: '#run/long', scheme: 'dark', keys: ['/', '=change of the clocks', 'Enter'] },
  'audit-link': { hash: '#run/release-notes', keys: ['4', 'j', '4'], height: 640 },
  'serve-narrow': { hash: '#run/flaky-test', keys: ['p'], width: 900, height: 760 },
  'serve-phone': { hash: '#run/long', keys: ['p'], ...phone },
  'serve-phone-dark': { hash: '#run/long', scheme: 'dark', keys: ['p', 'b'], ...phone },
  'serve-phone-runs': { wait: '#runs a', ...phone },
  'serve-light': { hash: '#run/review', keys: ['f'] },
}
for (const [name, shot] of Object.entries(shots)) {
  const { scheme = 'light', hash = '', wait = over, keys = [] } = shot
  const viewport = { width: shot.width ?? desktop.width, height: shot.height ?? desktop.height }
  const page = await browser.newPage({ viewport, colorScheme: scheme, reducedMotion: 'reduce' })
  await page.goto(server.url + hash)
  await page.waitForSelector(wait)
  for (const key of keys) {
    if (key.startsWith('=')) await page.keyboard.type(key.slice(1))
    else await page.keyboard.press(key)
    await page.waitForTimeout(300)
  }
  await page.waitForTimeout(500)
  writeFileSync(join(kept.has(name) ? images : out, `${name}.png`), smallPng(await page.screenshot()))
  await page.close()
}
await browser.close()
agent.kill('SIGTERM')
await agent.end.catch(() => {})
await server.close()
console.log(`${kept.size} in docs/images, the rest in ${out}`)
