import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { launch } from './browser.ts'
import { shutAll } from './serving.ts'

/**
 * A browser for the tests of a `describe`, its pages, and what went wrong in any of them: errors, and
 * requests to other machines. After each test all pages and servers are closed, and it fails if something
 * went wrong.
 */
export function pagesOfBrowser() {
  let browser: Browser
  const problems: string[] = []
  beforeAll(async () => {
    browser = await launch()
  }, 60_000)
  afterAll(() => browser?.close())
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close()
    expect(problems.splice(0)).toEqual([])
    await shutAll()
  })
  return {
    problems,
    /** A page that may go wrong. */
    bare: (): Promise<Page> => browser.newPage(),
    async open(url: string, hash = '', options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
      const page = await browser.newPage({ viewport: { width: 1300, height: 800 }, ...options })
      page.on('pageerror', (error) => problems.push(error.message))
      page.on('console', (message) => {
        if (message.type() === 'error' && !message.text().includes('net::ERR')) problems.push(message.text())
      })
      page.on('request', (request) => {
        if (new URL(request.url()).hostname !== '127.0.0.1') problems.push(`asked for ${request.url()}`)
      })
      await page.goto(url + hash)
      return page
    },
  }
}

/** Waits until all events of a run that is over are there, and what is above them. */
export const over = async (page: Page) => {
  await page.waitForSelector('#conversation[data-over=true]')
}
