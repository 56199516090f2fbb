import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { AgentEvent, RawRef } from '../../src/events/event.ts'
import { listAttempts } from '../../src/run/attempt-logs.ts'
import { exportSource, logsOf } from '../../src/serve/export.ts'
import type { EmbeddedData } from '../../src/serve/page/embedded.ts'
import { pageBody, pageScript, pageStyle } from '../../src/serve/page-text.js'
import { makeEvent } from '../disk/make-event.ts'
import { ends, makeRun } from '../views/make-run.ts'
import { chromiumPath, needsBrowser } from './browser.ts'
import { over, pagesOfBrowser } from './opened-page.ts'
import { putRun, root, serving } from './serving.ts'

/** One red pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

const diff = '--- a/clock.ts\n+++ b/clock.ts\n@@ -1,2 +1,2 @@\n-const hour = 2\n+const hour = 3\n keep()\n'
const steps: Parameters<typeof makeRun>[0] = [
  ['lifecycle.run.status', { status: 'started', model: 'gpt-5' }],
  ['user.message', { text: 'Mend the clock.' }],
  ['agent.message.final', { message_id: 'm', text: '**Done**, see `clock.ts`.' }],
  ['tool.call.started', { call_id: 'c', name: 'screenshot', input: { url: 'http://localhost/' } }],
  [
    'tool.call.completed',
    {
      call_id: 'c',
      name: 'screenshot',
      output: [
        { type: 'image', data: PNG, mimeType: 'image/png' },
        { type: 'image_url', image_url: 'https://images.example/other.png' },
      ],
    },
  ],
  ['artifact.modified', { path: 'clock.ts', diff }],
  ends.well as Parameters<typeof makeRun>[0][number],
]

/** A log with words that no event has. */
const log = `${JSON.stringify({ type: 'item', text: '**Done**' })}\n${JSON.stringify({ type: 'telemetry', note: 'Hidden-Pearl é' })}\n`
const logRef = (from: number, to: number): RawRef => ({
  attempt_number: 1,
  stream: 'stdout',
  byte_from: from,
  byte_to: to,
  encoding: 'utf-8',
})

function putSteps(dir: string): string {
  const path = join(dir, 'run')
  mkdirSync(path)
  const first = log.indexOf('\n') + 1
  const events = makeRun(steps).map((event, i) => (i === 2 ? { ...event, raw_ref: logRef(0, first) } : event))
  writeFileSync(join(path, 'events.jsonl'), events.map((event) => `${JSON.stringify(event)}\n`).join(''))
  writeFileSync(join(path, 'stdout.1.log'), log)
  return path
}

/** A run of two events, and a log of which two pieces are kept. */
const embedded: EmbeddedData = {
  version: 1,
  redacted: 2,
  runs: [
    {
      info: {
        ...{ id: 'r', run_id: 'r', engine: 'codex', attempts: 1, state: 'completed', outcome: 'succeeded' },
        ...{
          ok: true,
          failure_class: null,
          ...{
            cost: null,
            tokens: null,
            model: null,
            task: null,
            problem: null,
            waits_for: null,
            files: null,
          },
          reason_code: 'DONE_MARKER',
          exit_code: 0,
          signal: null,
          started_at: null,
          ended_at: null,
        },
        ...{ argv: [], streams: [{ attempt: 1, stream: 'stdout', bytes: 40 }] },
      },
      events: [makeEvent(1, { run: 'r', text: '</script><b>bold</b>' }), makeEvent(2, { run: 'r' })],
      streams: [
        {
          attempt: 1,
          stream: 'stdout',
          total: 40,
          pieces: [
            { from: 0, base64: Buffer.from('0123').toString('base64') },
            { from: 10, base64: Buffer.from('line one!!').toString('base64') },
          ],
        },
      ],
    },
  ],
}

describe.skipIf(!chromiumPath)(`what a page shows${needsBrowser}`, () => {
  const pages = pagesOfBrowser()

  test('shows an image given as data, fetches none that is only named, and draws a change as a diff', async () => {
    const dir = root()
    putSteps(dir)
    const { url } = await serving(dir)
    const page = await pages.open(url)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await over(page)
    await page.keyboard.press('f')
    const image = page.locator('article[data-kind=tool] img')
    await expect.poll(() => image.count()).toBe(1)
    expect(await image.getAttribute('src')).toBe(`data:image/png;base64,${PNG}`)
    await image.scrollIntoViewIfNeeded()
    const width = "document.querySelector('article[data-kind=tool] img')?.naturalWidth"
    await expect.poll(() => page.evaluate(width)).toBe(1)
    expect(await page.locator('article[data-kind=tool]').innerText()).toContain(
      'https://images.example/other.png',
    )
    expect(asked.filter((one) => !one.startsWith(url) && !one.startsWith('data:'))).toEqual([])
    const lines = page.locator('article[data-kind=artifact] .diff')
    await expect.poll(() => lines.locator('.added').innerText()).toContain('+const hour = 3')
    expect(await lines.locator('.removed').innerText()).toContain('-const hour = 2')
    expect(await lines.locator('.hunk').innerText()).toContain('@@ -1,2 +1,2 @@')
  })

  test('what is chosen, and the whole run, is copied as Markdown', async () => {
    const dir = root()
    putSteps(dir)
    const { url } = await serving(dir)
    const page = await pages.open(url)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await over(page)
    const copied = () => page.evaluate('navigator.clipboard.readText()')
    await page.locator('article[data-kind=message]').click()
    await page.keyboard.press('c')
    await expect.poll(() => page.locator('#toast').innerText()).toContain('copied')
    await expect.poll(copied).toBe('**Done**, see `clock.ts`.\n')
    await page.keyboard.press('C')
    await expect.poll(copied).toContain(`\`\`\`diff\n${diff.trimEnd()}\n\`\`\``)
    expect(await copied()).toMatch(/^> Mend the clock\.\n\n\*\*Done\*\*/)
  })

  test('/ finds text that only the raw log has, and shows its bytes', async () => {
    const dir = root()
    const path = putSteps(dir)
    const { url } = await serving(dir)
    const attempts = listAttempts(path)
    const events: AgentEvent[] = makeRun(steps)
    const source = {
      name: 'run',
      events: async function* () {
        yield* events
      },
      attempts,
      logs: logsOf(attempts),
    }
    let html = ''
    for await (const text of exportSource(source, { to: 'html', redact: false }).text) html += text
    const file = join(dir, 'run.html')
    writeFileSync(file, html)
    const marked = "[...document.querySelectorAll('#bytes mark')].map((mark) => mark.textContent).join('')"
    const served = await pages.open(url)
    const kept = await pages.bare()
    await kept.goto(pathToFileURL(file).href)
    for (const page of [served, kept]) {
      await over(page)
      await page.keyboard.press('/')
      await page.keyboard.type('hidden-pearl')
      const count = page.locator('#hits-count')
      await expect.poll(() => count.innerText()).toBe('1 hit')
      expect(await page.locator('.hit .kind').innerText()).toBe('stdout')
      await page.keyboard.press('Enter')
      await expect.poll(() => page.evaluate(marked)).toBe('Hidden-Pearl')
      // What an event has is told once, not once more as bytes.
      const field = page.locator('#seek')
      await field.fill('**Done**')
      await expect.poll(() => count.getAttribute('data-done')).toBe('true')
      if (page === served) expect(await count.innerText()).toBe('1 hit')
      await field.fill('Pearl é')
      await expect.poll(() => count.innerText()).toBe('1 hit')
    }
  })

  test('with redact the pane says that bytes are hidden, shows the events of an item, and finds nothing in logs', async () => {
    const dir = root()
    const path = putSteps(dir)
    const token = 'ghp_Zq7Xw2Vb9Nk4Jt6Hs8Rd3Mf5Lc1PyGuEoAi0'
    writeFileSync(join(path, 'stdout.1.log'), `${log}the key is ${token}\n`)
    const { url } = await serving(dir, { redact: true })
    const page = await pages.open(url)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await over(page)
    await page.keyboard.press('b')
    const bytes = page.locator('#bytes')
    expect(await bytes.innerText()).toMatch(/^The raw bytes are hidden/)
    expect(await page.locator('#streams [role=tab]').count()).toBe(0)
    await page.keyboard.press('j')
    await expect.poll(() => bytes.locator('.event').count()).toBeGreaterThan(0)
    expect(JSON.parse(await bytes.locator('.event').first().innerText())).toMatchObject({ seq: 2 })
    expect(await page.locator('#range').innerText()).toMatch(/^\d+ events?$/)
    // Keys that are for bytes do nothing.
    await page.keyboard.press('s')
    await page.keyboard.press('Escape')
    await expect.poll(() => bytes.locator('.event').count()).toBe(0)
    await page.keyboard.press('/')
    const count = page.locator('#hits-count')
    for (const words of [token.slice(0, 12), 'the key is']) {
      await page.locator('#seek').fill(words)
      await expect.poll(() => count.getAttribute('data-done')).toBe('true')
      expect(await count.innerText()).toBe('nothing found')
    }
    expect(asked.filter((address) => address.includes('/raw/'))).toEqual([])
  })

  test('a page with its data inside opens from disk: events, bytes, and what was left out', async () => {
    const file = join(root(), 'run.html')
    const json = JSON.stringify(embedded).replaceAll('<', '\\u003c')
    writeFileSync(
      file,
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>r</title><style>${pageStyle}</style></head>
<body>${pageBody}<script type="application/json" id="sluice-data">${json}</script><script>${pageScript}</script></body></html>`,
    )
    const page = await pages.bare()
    const wrong: string[] = []
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()))
    page.on('request', (request) => request.url().startsWith('file:') || wrong.push(request.url()))
    await page.goto(pathToFileURL(file).href)
    await over(page)
    expect(await page.locator('article').first().innerText()).toContain('</script><b>bold</b>')
    await page.keyboard.press('b')
    await page.keyboard.press('j')
    await expect.poll(() => page.locator('#bytes mark').allInnerTexts()).toEqual(['line one!!'])
    // Bytes that are not in the file are shown as left out, in their place.
    expect(await page.locator('#bytes .line').first().innerText()).toContain('0123......')
    expect(await page.locator('#link').innerText()).toBe('2 secrets hidden')
    expect(wrong).toEqual([])
  })

  test('a reader is asked for the token once', async () => {
    const dir = root()
    putRun(dir, 'r', 3)
    const token = 'correct-horse-battery'
    const { url } = await serving(dir, { token })
    const page = await pages.bare()
    await page.goto(`${url}#run/r/1.2`)
    await page.locator('#token').fill('wrong-wrong-wrong-wrong')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('.wrong').innerText()).toBe('That is not the token.')
    await page.locator('#token').fill(token)
    await page.keyboard.press('Enter')
    await over(page)
    expect(await page.locator('article').count()).toBe(3)
    // The address that was asked for is kept, without the token.
    expect(page.url()).toBe(`${url}#run/r/1.2`)
    await expect.poll(() => page.locator('article.chosen').getAttribute('data-id')).toBe('1.2')
  })
})

test('the script can be put into a document: it has no end of a script in it', () => {
  const ends = [pageScript, pageStyle].map((text) =>
    ['</script', '</style', '<!--'].filter((end) => text.includes(end)),
  )
  expect(ends).toEqual([[], []])
})
