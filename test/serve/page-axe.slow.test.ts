import { join } from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { chromiumPath, needsBrowser } from './browser.ts'
import { putLargeRun } from './large-run.ts'
import { over, pagesOfBrowser } from './opened-page.ts'
import { root, serving } from './serving.ts'

const fixtures = new URL('../../fixtures', import.meta.url).pathname

/** What axe finds, in one line each. */
async function violations(page: Page): Promise<string[]> {
  // Through the debugger, which the page's content security policy does not bind.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.html.slice(0, 160) + ' ' + node.failureSummary.slice(0, 300))))`)
}

describe.skipIf(!chromiumPath)(`accessible${needsBrowser}`, () => {
  const pages = pagesOfBrowser()

  test.each([
    ['in the light, on a desktop', 'light', 1300],
    ['in the dark, on a phone', 'dark', 390],
  ] as const)('axe finds nothing %s', async (_, colorScheme, width) => {
    const dir = root()
    putLargeRun(dir, 'long', 100)
    const { url } = await serving(dir)
    const viewport = { width, height: 800 }
    const page = await pages.open(url, '', { viewport, colorScheme, reducedMotion: 'reduce' })
    await over(page)
    // Chosen, unfolded, searched, filtered.
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await page.keyboard.press('/')
    await page.keyboard.type('part')
    await page.waitForSelector('#hits-count[data-done=true]')
    expect(await violations(page)).toEqual([])
    for (const key of ['?', 'b', 'r']) {
      await page.keyboard.press('Escape')
      await page.keyboard.press(key)
      expect(await violations(page)).toEqual([])
    }
  })

  test('axe finds nothing in a run with everything in it, in the list, and where there is nothing', async () => {
    const { url } = await serving(join(fixtures, 'claude'))
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await pages.open(url, '#run/stream-json.tools', { colorScheme, reducedMotion: 'reduce' })
      await over(page)
      await page.keyboard.press('f')
      await page.keyboard.press('j')
      expect(await violations(page)).toEqual([])
    }
    const list = await pages.open(url)
    await list.waitForSelector('#runs a')
    expect(await violations(list)).toEqual([])
    const empty = await pages.open((await serving(root())).url)
    await empty.waitForSelector('#none pre')
    expect(await violations(empty)).toEqual([])
  })
})
