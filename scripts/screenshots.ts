// Makes the pictures of the page in docs/images: npx tsx scripts/screenshots.ts (needs a Chromium; set
// CHROMIUM to its path). The runs are fixtures, recorded from the real CLIs, with other tasks and times, and
// a long one.
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serve } from '../src/serve/serve.ts'
import { launch } from '../test/serve/browser.ts'
import { putLargeRun } from '../test/serve/large-run.ts'
import { smallPng } from './small-png.ts'

const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url))
const images = fileURLToPath(new URL('../docs/images', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'sluice-pictures-'))

const tasks =
  `Drop support for IE|Document the public API|Add an index for slow queries|Fix the time zone of reports
Let users rename projects|Find unused CSS|Update the screenshots|Hide prices from guests|Add keyboard shortcuts
Fix the race in the job runner|Write a fuzz test for the tokenizer|Make the CI matrix smaller|Merge the two config files
Move the avatars to object storage|Translate the welcome mail|Cache the price list|Say why a payment failed
Measure the bundle|Clean up the test helpers|Rename the flags of the importer`.split(/[|\n]/)
const engines = ['codex', 'claude', 'gemini', 'opencode', 'qwen', 'copilot']
const day = Date.UTC(2026, 10, 16, 22, 23)
for (let i = 0; i < 48; i++) {
  const engine = engines[i % engines.length]!
  const names = readdirSync(join(fixtures, engine)).filter((name) =>
    existsSync(join(fixtures, engine, name, 'meta.json')),
  )
  const name = names[(i * 5) % names.length]!
  const to = join(root, engine, `${i}`)
  cpSync(join(fixtures, engine, name), to, { recursive: true })
  const meta = JSON.parse(readFileSync(join(to, 'meta.json'), 'utf8'))
  const started_at = new Date(day - i * 47 * 60_000).toISOString()
  writeFileSync(join(to, 'meta.json'), JSON.stringify({ ...meta, task: tasks[i % tasks.length], started_at }))
}
putLargeRun(root, 'clock', 10_000)

interface Shot {
  readonly scheme?: 'dark'
  /** The run, and perhaps the event. */
  readonly hash?: string
  /** Keys, one after the other; a text that begins with `=` is typed. */
  readonly keys?: readonly string[]
  readonly phone?: true
}

const shots: Readonly<Record<string, Shot>> = {
  'serve-list': {},
  'serve-long': { hash: '#run/clock', keys: ['p', 'b'] },
  'serve-find': { hash: '#run/clock', scheme: 'dark', keys: ['/', '=change of the clocks', 'Enter'] },
  'serve-phone-list': { phone: true },
  'serve-phone': { hash: '#run/clock', keys: ['p'], phone: true },
}
const server = await serve({ dir: root, port: 0 })
const browser = await launch()
for (const [name, { scheme = 'light', hash = '', keys = [], phone }] of Object.entries(shots)) {
  const viewport = phone ? { width: 390, height: 780 } : { width: 1280, height: 800 }
  const page = await browser.newPage({ viewport, colorScheme: scheme, reducedMotion: 'reduce' })
  await page.goto(server.url + hash)
  await page.waitForSelector(hash === '' ? '#runs a' : '#conversation[data-over=true]')
  for (const key of keys) {
    if (key.startsWith('=')) await page.keyboard.type(key.slice(1))
    else await page.keyboard.press(key)
    await page.waitForTimeout(300)
  }
  await page.waitForTimeout(500)
  writeFileSync(join(images, `${name}.png`), smallPng(await page.screenshot()))
  await page.close()
}
await browser.close()
await server.close()
rmSync(root, { recursive: true })
