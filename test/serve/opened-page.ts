import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'

/** Pages of one browser, and what went wrong in any of them: errors, and requests to other machines. */
export function pagesOf(browser: Browser) {
  const problems: string[] = []
  return {
    problems,
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
    /** Closes all pages, and fails if something went wrong in one. */
    async close(): Promise<void> {
      for (const context of browser.contexts()) await context.close()
      expect(problems.splice(0)).toEqual([])
    },
  }
}

/** Waits until all events of a run that is over are there. */
export const over = (page: Page) => page.waitForSelector('#conversation[data-over=true]')
