import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { ends, makeRun } from '../views/make-run.ts'
import { violations } from './axe.ts'
import { chromiumPath, needsBrowser } from './browser.ts'
import { over, pagesOfBrowser } from './opened-page.ts'
import { root, serving } from './serving.ts'

type Steps = Parameters<typeof makeRun>[0]

function put(dir: string, name: string, task: string, steps: Steps): void {
  mkdirSync(join(dir, name))
  const lines = makeRun(steps).map((event) => `${JSON.stringify(event)}\n`)
  writeFileSync(join(dir, name, 'events.jsonl'), lines.join(''))
  writeFileSync(join(dir, name, 'stdout.1.log'), '')
  const meta = { engine: 'codex', task, started_at: '2026-11-03T12:00:00.000Z', duration_ms: 60_000 }
  writeFileSync(join(dir, name, 'meta.1.json'), JSON.stringify(meta))
}

const edit = (call_id: string, old_string: string, new_string: string): Steps => [
  [
    'tool.call.completed',
    { call_id, name: 'Edit', kind: 'edit', input: { file_path: '/w/src/oven.ts', old_string, new_string } },
  ],
]
const command = (text: string, exit_code: number): Steps => [
  [
    exit_code === 0 ? 'tool.call.completed' : 'tool.call.failed',
    { call_id: text, name: 'Bash', kind: 'execute', input: { command: text }, exit_code, output: 'out' },
  ],
]
const says = (text: string): Steps => [['agent.message.final', { message_id: text, text }]]
const changed = (path: string, diff?: string): Steps => [
  ['artifact.modified', { path, ...(diff && { diff }) }],
]

/** Two tries at one task: the first changes a file twice and fails, the second does it. */
function twoTries(): string {
  const dir = root()
  put(dir, 'first', 'Bake a cake', [
    ...says('I look at the oven.'),
    ...edit('a', 'const heat = 200', 'const heat = 900'),
    ...command('npm test', 1),
    ...edit('b', 'const heat = 900', 'const heat = 180'),
    ...says('The oven is broken.'),
    ...changed('src/oven.ts', '@@ -1 +1 @@\n-const heat = 900\n+const heat = 180'),
    ...changed('notes.md'),
    ends.badly,
  ])
  put(dir, 'second', 'Bake a cake again', [
    ...says('I look at the oven.'),
    ...edit('a', 'const heat = 200', 'const heat = 180'),
    ...command('npm test', 0),
    ...says('The cake is done.'),
    ...changed('src/oven.ts', '@@ -1 +1 @@\n-const heat = 200\n+const heat = 180'),
    ends.well,
  ])
  return dir
}

const drawn = (page: Page) => page.waitForSelector('#beside[data-over=true]')

describe.skipIf(!chromiumPath)(`changes and comparisons${needsBrowser}`, () => {
  const pages = pagesOfBrowser()

  test('all changes of a run are one view by file, with a way to each edit and back', async () => {
    const { url } = await serving(twoTries())
    const page = await pages.open(url, '#run/first')
    await over(page)
    await page.getByRole('link', { name: 'Changes', exact: true }).click()
    await drawn(page)
    expect(new URL(page.url()).hash).toBe('#changes/first')
    await page.getByRole('heading', { name: 'Changes of Bake a cake' }).waitFor()
    expect(await page.locator('#beside .line').innerText()).toBe('2 files · 1 of them more than once · +2 −2')
    const files = page.locator('.changed')
    expect(await files.locator('summary').allInnerTexts()).toEqual([
      expect.stringMatching(/^notes\.md\s+modified$/),
      expect.stringMatching(/^src\/oven\.ts\s+modified · 2 edits$/),
    ])
    expect(await files.nth(0).innerText()).toContain('Only its name is known')
    expect(await files.nth(1).locator('pre').allTextContents()).toEqual([
      '-const heat = 200\n+const heat = 900\n',
      '-const heat = 900\n+const heat = 180\n',
    ])
    expect(await page.locator('#talk').isVisible()).toBe(false)
    await page.getByRole('link', { name: 'Edit 2' }).click()
    await over(page)
    expect(new URL(page.url()).hash).toBe('#run/first/1.4')
    await expect.poll(() => page.locator('article.chosen').innerText()).toContain('oven.ts')
    expect(await page.locator('#beside').isVisible()).toBe(false)
    await page.goBack()
    await drawn(page)
    await page.keyboard.press('r')
    await page.waitForSelector('#runs a')
  })

  test('two runs are chosen in the list and shown side by side', async () => {
    const { url } = await serving(twoTries())
    const page = await pages.open(url, '#?more=1')
    await page.getByRole('button', { name: 'Compare two runs' }).click()
    await page.getByRole('link', { name: 'Bake a cake', exact: true }).click()
    await page.getByText('choose the one to compare it with').waitFor()
    await page.getByRole('link', { name: 'Bake a cake again' }).click()
    await drawn(page)
    expect(new URL(page.url()).hash).toBe('#compare/first/second')
    await expect
      .poll(() => page.locator('#beside thead a').allInnerTexts())
      .toEqual(['Bake a cake', 'Bake a cake again'])
    expect(await page.locator('#beside .line').innerText()).toBe(
      'They differ in: outcome, answer, files, calls, conversation.',
    )
    const rows = await page.locator('#beside tbody tr').allInnerTexts()
    expect(rows.map((row) => row.split(/\t|\n/).filter(Boolean))).toEqual([
      ['outcome ≠', expect.stringMatching(/^failed/), 'succeeded'],
      ['answer ≠', 'The oven is broken.', 'The cake is done.'],
      ['files ≠', '2 files', '1 file'],
      ['calls ≠', '3 calls, 1 failed', '2 calls'],
      ['time', '1 min 0 s', '1 min 0 s'],
    ])
    expect(await page.locator('#beside > .pair').innerText()).toMatch(
      /^call\s+Bash npm test · exit 1\s+call\s+Bash npm test$/,
    )
    expect(await page.locator('.changed summary').allInnerTexts()).toEqual(['notes.md', 'src/oven.ts'])
    // A reload shows the same, and the way back is the list.
    await page.reload()
    await drawn(page)
    await page.locator('#beside thead a').first().click()
    await over(page)
    expect(new URL(page.url()).hash).toBe('#run/first')
  })

  test('runs that are the same, and runs that are not here, are told', async () => {
    const dir = twoTries()
    cpSync(join(dir, 'first'), join(dir, 'copy'), { recursive: true })
    const { url } = await serving(dir)
    const page = await pages.open(url, '#compare/first/copy')
    await page.getByText('They are the same, but for what they took.').waitFor()
    await page.getByRole('heading', { name: 'The conversations are the same' }).waitFor()
    // The server answers with a 404, which a browser tells on its console.
    const gone = await pages.bare()
    await gone.goto(`${url}#compare/first/nothing`)
    await gone.getByText('Not here, or without events: nothing').waitFor()
    const none = await pages.bare()
    await none.goto(`${url}#changes/nothing`)
    await none.getByText('This run is not here, or has no events.').waitFor()
  })

  test('what is shown has no secrets where they are hidden', async () => {
    const dir = root()
    const token = 'ghp_7hQ2mV9xK4tLw8ZpR3nB6yD1cF5gJ0sA2eUi'
    const diff = `diff --git a/key b/key\n--- /dev/null\n+++ b/key\n@@ -0,0 +1 @@\n+${token}\n`
    put(dir, 'run', 'Keep it', [['artifact.created', { path: 'key', diff, whole: true }], ends.well])
    const { url } = await serving(dir, { redact: true })
    const page = await pages.open(url, '#changes/run')
    await drawn(page)
    expect(await page.locator('.changed').innerText()).toContain('+[redacted:github]')
    expect(await page.content()).not.toContain(token)
  })

  test.each([
    ['light', 1440],
    ['dark', 390],
    ['dark', 1440],
    ['light', 390],
  ] as const)('axe finds nothing in the %s, %i pixels wide', async (colorScheme, width) => {
    const { url } = await serving(twoTries())
    const look = { viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' } as const
    for (const [hash, name] of [
      ['#changes/first', 'changes'],
      ['#compare/first/second', 'compare'],
    ] as const) {
      const page = await pages.open(url, hash, look)
      await drawn(page)
      await page.locator('#beside a').first().waitFor()
      const shots = process.env['SHOTS']
      if (shots) await page.screenshot({ path: join(shots, `${name}-${colorScheme}-${width}.png`) })
      expect(await violations(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    }
  })
})
