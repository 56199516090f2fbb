import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EmbeddedData } from '../../src/serve/page/embedded.ts'
import { pageBody, pageScript, pageStyle } from '../../src/serve/page-text.ts'
import { makeEvent } from '../sinks/make-event.ts'
import { chromiumPath, launch, needsBrowser } from './browser.ts'
import { over } from './opened-page.ts'
import { root } from './serving.ts'

const log = `0123456789${Array.from({ length: 3 }, (_, i) => `line ${i + 1} é\n`).join('')}`

const data: EmbeddedData = {
  version: 1,
  redacted: 2,
  runs: [
    {
      info: {
        id: 'r',
        run_id: 'r',
        engine: 'codex',
        attempts: 1,
        state: 'completed',
        outcome: 'succeeded',
        reason_code: 'DONE_MARKER',
        exit_code: 0,
        signal: null,
        started_at: null,
        ended_at: null,
        argv: [],
        streams: [{ attempt: 1, stream: 'stdout', bytes: 40 }],
      },
      events: [makeEvent(1, { run: 'r', text: '</script><b>bold</b>' }), makeEvent(2, { run: 'r' })],
      streams: [
        {
          attempt: 1,
          stream: 'stdout',
          total: 40,
          pieces: [
            { from: 0, base64: Buffer.from(log.slice(0, 4)).toString('base64') },
            { from: 10, base64: Buffer.from('line one!!').toString('base64') },
          ],
        },
      ],
    },
  ],
}

describe.skipIf(!chromiumPath)(`a page with its data inside${needsBrowser}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  }, 60_000)
  afterAll(() => browser?.close())

  test('opens from disk without a server: events, bytes, and what was left out', async () => {
    const file = join(root(), 'run.html')
    const json = JSON.stringify(data).replaceAll('<', '\\u003c')
    writeFileSync(
      file,
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>r</title><style>${pageStyle}</style></head>
<body>${pageBody}<script type="application/json" id="sluice-data">${json}</script><script>${pageScript}</script></body></html>`,
    )
    const page = await browser.newPage()
    const wrong: string[] = []
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()))
    page.on('request', (request) => request.url().startsWith('file:') || wrong.push(request.url()))
    await page.goto(pathToFileURL(file).href)
    await over(page)
    expect(await page.locator('article').first().innerText()).toContain('</script><b>bold</b>')
    await page.keyboard.press('j')
    await expect.poll(() => page.locator('#bytes mark').allInnerTexts()).toEqual(['line one!!'])
    // Bytes that are not in the file are shown as left out, in their place.
    expect(await page.locator('#bytes .line').first().innerText()).toContain('0123......')
    expect(await page.locator('#link').innerText()).toBe('2 secrets hidden')
    expect(wrong).toEqual([])
  })

  test('the script can be put into a document: it has no end of a script in it', () => {
    const ends = [pageScript, pageStyle].map((text) =>
      ['</script', '</style', '<!--'].filter((end) => text.includes(end)),
    )
    expect(ends).toEqual([[], []])
  })
})
