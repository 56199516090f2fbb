import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { violations } from './axe.ts'
import { chromiumPath, needsBrowser } from './browser.ts'
import { putLargeRun } from './large-run.ts'
import { over, pagesOfBrowser } from './opened-page.ts'
import { root, serving } from './serving.ts'

const fixtures = new URL('../../fixtures', import.meta.url).pathname

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

  test.each(['light', 'dark'] as const)(
    'axe finds nothing in calls, requests, a list, and where there is nothing, in the %s',
    async (colorScheme) => {
      const look = { colorScheme, reducedMotion: 'reduce' } as const
      const claude = await serving(join(fixtures, 'claude'))
      const calls = await pages.open(claude.url, '#run/stream-json.tools', look)
      await over(calls)
      await calls.keyboard.press('f')
      await calls.keyboard.press('j')
      expect(await violations(calls)).toEqual([])
      const codex = await serving(join(fixtures, 'codex'))
      for (const name of ['app-server-question.loop', 'app-server-patch.loop']) {
        const asked = await pages.open(codex.url, `#run/${name}`, look)
        await over(asked)
        expect(await violations(asked)).toEqual([])
      }
      const list = await pages.open(claude.url, '', look)
      await list.waitForSelector('#runs a')
      expect(await violations(list)).toEqual([])
      await list.keyboard.press('?')
      expect(await violations(list)).toEqual([])
      await list.keyboard.press('Escape')
      await list.locator('#find').fill('nothing like it')
      expect(await violations(list)).toEqual([])
      const gone = await pages.bare()
      await gone.emulateMedia(look)
      await gone.goto(`${claude.url}#run/no-such-run`)
      await over(gone)
      expect(await violations(gone)).toEqual([])
      const empty = await pages.open((await serving(root())).url, '', look)
      await empty.waitForSelector('#none pre')
      expect(await violations(empty)).toEqual([])
    },
  )
})
